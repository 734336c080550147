// Everybody who uses the service while faults come and go.

import type { Verifier } from '../../packages/client/src/verify.ts';
import { mailIdOf } from './mails.ts';
import { Person } from './person.ts';
import { type FeedReader, verifyAtService } from './services.ts';
import type { LiveToken } from './session-recorder.ts';
import { anyAddress, anyNode, apiOf, type World } from './world.ts';

const people = 6;
const checkers = 2;
const pauseMs = 15;
const servicePauseMs = 30;
const correspondencePauseMs = 150;
const greedPauseMs = 60;
/** How often somebody asks on after the service has said that it is too much. */
const refusalsTaken = 5;

const isTooMuch = (code: string | undefined): boolean => code === 'rate_limited';

/** Presents some tokens that ended lately, and some that did not. */
async function verifySome(world: World): Promise<void> {
  const { recorder, random } = world;
  const ended = recorder.sessions.ended();
  const tokens = [...(ended.length > 0 ? [random.pick(ended)] : []), ...recorder.sessions.some(random, 1)];
  await Promise.all(tokens.map((token) => verify(world, token)));
}

/** Presents a token to a random node until one says whether it accepts it, at most so often. */
export async function verify(world: World, token: LiveToken, tries = 1): Promise<void> {
  const { recorder } = world;
  for (let attempt = 0; attempt < tries; attempt++) {
    const node = anyNode(world);
    const { sentAt, outcome, code } = await recorder.see('verification', () =>
      apiOf(node, anyAddress(world.random)).call('getProfile', { accessToken: token.text }),
    );
    const verification = { by: 'node', name: node.name, token: token.id, sentAt } as const;
    if (outcome === 'done') return recorder.sessions.verified(verification, 'accepted');
    if (code === 'invalid_token') return recorder.sessions.verified(verification, 'refused');
    await Bun.sleep(pauseMs);
  }
}

/** Requests emails to addresses that nobody signs in to, so that nothing makes them useless. */
function correspondent(world: World): () => Promise<void> {
  const { recorder, random } = world;
  let written = 0;
  return async () => {
    const address = `c${++written}@example.com`;
    const { result, sentAt } = await recorder.see('email request', () =>
      apiOf(anyNode(world), anyAddress(random)).call('requestMagicLink', { body: { email: address } }),
    );
    if (result) recorder.promisedMails.push({ id: mailIdOf(result.request), address, sentAt });
  };
}

/** Requests more emails to one address than its budget allows. */
function greedyWriter(world: World): () => Promise<void> {
  const { recorder, random } = world;
  let client = anyAddress(random);
  let written = 0;
  let refusals = 0;
  return async () => {
    const address = `g${written}@example.com`;
    const node = anyNode(world);
    const epoch = node.budgetEpoch();
    const { result, sentAt, endedAt, code } = await recorder.see('email request', () =>
      apiOf(node, client).call('requestMagicLink', { body: { email: address } }),
    );
    if (result) recorder.promisedMails.push({ id: mailIdOf(result.request), address, sentAt });
    if (result && epoch === node.budgetEpoch())
      recorder.spendings.push({ budget: 'emails by pair', key: `${address} ${epoch}`, sentAt, endedAt });
    if (!isTooMuch(code) || ++refusals < refusalsTaken) return;
    refusals = 0;
    written++;
    client = anyAddress(random);
  };
}

/** Tries user codes that do not exist, more often than its budget allows. */
function guesser(world: World): () => Promise<void> {
  const { recorder, random } = world;
  let person = new Person(world);
  let refusals = 0;
  return async () => {
    const { accessToken, account } = person;
    if (accessToken === undefined) return person.signIn();
    const node = anyNode(world);
    const epoch = node.budgetEpoch();
    const { sentAt, endedAt, code } = await recorder.see('wrong user code', () =>
      apiOf(node, anyAddress(random)).call('verifyDevice', {
        accessToken,
        body: { user_code: 'BCDF-GHJK' },
      }),
    );
    if (code === 'invalid_grant' && epoch === node.budgetEpoch())
      recorder.spendings.push({
        ...{ budget: 'user codes by user', key: `account ${account} ${epoch}`, sentAt, endedAt },
      });
    if (!isTooMuch(code) || ++refusals < refusalsTaken) return;
    refusals = 0;
    person = new Person(world);
  };
}

async function repeat(world: World, pauseMs: number, step: () => Promise<unknown>): Promise<void> {
  while (!world.isOver()) {
    await step();
    await Bun.sleep(world.random.below(2 * pauseMs));
  }
}

/** Resolves when the world is over and everybody has finished what they were doing. */
export async function liveIn(
  world: World,
  verifiers: readonly Verifier[],
  readers: readonly FeedReader[],
): Promise<void> {
  const persons = Array.from({ length: people }, () => new Person(world));
  await Promise.all([
    ...persons.map((person) => repeat(world, pauseMs, () => person.act())),
    ...Array.from({ length: checkers }, () => repeat(world, pauseMs, () => verifySome(world))),
    ...verifiers.map((verifier, n) =>
      repeat(world, servicePauseMs, () => verifyAtService(world, verifier, `s${n}`)),
    ),
    ...readers.map((reader) => repeat(world, servicePauseMs, () => reader.read(1 + world.random.below(20)))),
    repeat(world, correspondencePauseMs, correspondent(world)),
    repeat(world, greedPauseMs, greedyWriter(world)),
    repeat(world, greedPauseMs, guesser(world)),
  ]);
}
