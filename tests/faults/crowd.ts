// Everybody who uses the service while faults come and go.

import type { Verifier } from '../../packages/client/src/verify.ts';
import { startPerson } from './person.ts';
import type { LiveToken } from './recorder.ts';
import { type FeedReader, verifyAtService } from './services.ts';
import { anyAddress, ask, askWith, requestMail, type World } from './world.ts';

const people = 6;
const checkers = 2;
const pauseMs = 15;
const servicePauseMs = 30;
const correspondencePauseMs = 150;
const greedPauseMs = 60;
/** How often somebody asks on after the service has said that it is too much. */
const refusalsTaken = 5;

/** Presents some tokens that ended lately, and some that did not. */
async function verifySome(world: World): Promise<void> {
  const { recorder, random } = world;
  const ended = recorder.watchedAfterEnd();
  const tokens = [...(ended.length > 0 ? [random.pick(ended)] : []), ...recorder.someActive(random, 1)];
  await Promise.all(tokens.map((token) => verify(world, token)));
}

/** Presents a token to a random node until one says whether it accepts it, at most so often. */
export async function verify(world: World, token: LiveToken, tries = 1): Promise<void> {
  for (let attempt = 0; attempt < tries; attempt++) {
    const { outcome, code } = await askWith(world, token, 'verification', 'getProfile');
    if (outcome === 'done' || code === 'invalid_token') return;
    await Bun.sleep(pauseMs);
  }
}

/** Requests emails to addresses that nobody signs in to, so that nothing makes them useless. */
function correspondent(world: World): () => Promise<unknown> {
  let written = 0;
  return () => requestMail(world, `c${++written}@example.com`);
}

/** Does something as long as the service allows it and a little longer, and then begins anew, as somebody else. */
function greedy(beginAnew: () => () => Promise<{ readonly code: string | undefined }>): () => Promise<void> {
  let act = beginAnew();
  let refusals = 0;
  return async () => {
    const { code } = await act();
    if (code !== 'rate_limited' || ++refusals < refusalsTaken) return;
    refusals = 0;
    act = beginAnew();
  };
}

/** Requests more emails to one address than its budget allows. */
function greedyWriter(world: World): () => Promise<void> {
  let written = 0;
  return greedy(() => {
    const address = `g${written++}@example.com`;
    const client = anyAddress(world.random);
    return async () => {
      const asked = await requestMail(world, address, client);
      const { result, budgetEpoch, sentAt, endedAt } = asked;
      if (result && budgetEpoch !== undefined)
        world.recorder.spendings.push({
          ...{ budget: 'emails by pair', key: `${address} ${budgetEpoch}`, sentAt, endedAt },
        });
      return asked;
    };
  });
}

/** Tries user codes that do not exist, more often than its budget allows. */
const guesser = (world: World): (() => Promise<void>) =>
  greedy(() => {
    const person = startPerson(world);
    return async () => {
      const token = person.token();
      if (token === undefined) {
        await person.signIn();
        return { code: undefined };
      }
      const asked = await ask(world, 'wrong user code', (api) =>
        api.call('verifyDevice', { accessToken: token.text, body: { user_code: 'BCDF-GHJK' } }),
      );
      const { code, budgetEpoch, sentAt, endedAt } = asked;
      const key = `account ${token.session.account} ${budgetEpoch}`;
      if (code === 'invalid_grant' && budgetEpoch !== undefined)
        world.recorder.spendings.push({ budget: 'user codes by user', key, sentAt, endedAt });
      return asked;
    };
  });

async function repeat(world: World, pauseMs: number, step: () => Promise<unknown>): Promise<void> {
  while (!world.isOver) {
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
  const persons = Array.from({ length: people }, () => startPerson(world));
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
