// Lets a crowd use a service while one fault after another happens to it, and checks what they saw.

import { type Random, randomFrom } from '../support/random.ts';
import { registerService, runOperator } from '../support/service.ts';
import { until } from '../support/until.ts';
import { excusedMails, lostMails, violationsIn } from './checker.ts';
import { liveIn, verify } from './crowd.ts';
import type { Outcome } from './history.ts';
import { openPostgresSite } from './postgres-site.ts';
import { FaultRecorder } from './recorder.ts';
import { FeedReader, verifiersFor } from './services.ts';
import { budgets } from './settings.ts';
import type { Fault } from './site.ts';
import { openSqliteSite } from './sqlite-site.ts';
import { anyAddress, type World } from './world.ts';

export type Store = 'sqlite' | 'postgres';

export interface Run {
  readonly store: Store;
  readonly seconds: number;
  readonly seed: number;
  /** The fault to make again and again. Default: all. */
  readonly only?: string | undefined;
}

interface FaultReport {
  readonly count: number;
  /** From the end of the fault until every node answered a request that writes. */
  readonly longestRecoveryMs: number;
}

export interface Report {
  readonly operations: Readonly<Record<string, Readonly<Record<Outcome, number>>>>;
  readonly faults: Readonly<Record<string, FaultReport>>;
  readonly skipped: readonly string[];
  readonly violations: readonly string[];
  /** Emails that were sent again because the service could not note that they had been sent. */
  readonly mailsSentAgain: number;
  /** Answers with 500, where 503 is right. */
  readonly serverErrors: readonly string[];
}

const minFaultMs = 300;
const usualFaultMs = 1_500;
/** Some faults last so long that clients and connections give up. */
const longFaultMs = 8_000;
const calmMs = 500;
const mailDeadlineMs = 120_000;
const pollMs = 250;
/** How many tokens are presented once more at the end, and how many at a time. */
const finalTokens = 800;
const finalClients = 8;
const finalTries = 20;
const readerNames = ['r0', 'r1'];

/** All of them in random order, again and again, as far as they are possible. */
function* shuffled(faults: readonly Fault[], random: Random): Generator<Fault> {
  for (;;) {
    const rest = [...faults];
    while (rest.length > 0) yield* rest.splice(random.below(rest.length), 1);
  }
}

/** Waits until somebody has signed in and refreshed, and somebody else has guessed: then every kind of client is at work. */
async function awaitCrowd({ recorder: { operations } }: World): Promise<void> {
  const isAtWork = () => !!(operations['refresh']?.done && operations['wrong user code']?.refused);
  await until(isAtWork, 'somebody to sign in before the first fault');
}

/** Makes one fault after the other, until the time is over. Returns how long each recovery took. */
async function makeFaults(
  { site, recorder, random }: World,
  faults: readonly Fault[],
  { seconds }: Run,
): Promise<Map<string, number[]>> {
  const recoveries = new Map<string, number[]>();
  const until = recorder.now() + seconds * 1000;
  for (const fault of shuffled(faults, random)) {
    if (recorder.now() >= until) break;
    if (!fault.isPossible()) continue;
    const { name, mayRepeatMails } = fault;
    const startedAt = recorder.now();
    await fault.start();
    await Bun.sleep(minFaultMs + random.below(random.oneIn(5) ? longFaultMs : usualFaultMs));
    const endsAt = recorder.now();
    await fault.end();
    await site
      .recovered(() => anyAddress(random))
      .catch((error) => {
        throw new Error(`after "${name}": ${error}`);
      });
    const endedAt = recorder.now();
    recorder.faults.push({ name, mayRepeatMails, startedAt, endedAt });
    recoveries.set(name, [...(recoveries.get(name) ?? []), endedAt - endsAt]);
    await Bun.sleep(calmMs);
  }
  return recoveries;
}

/** Waits for every promised email that nothing has made useless. */
async function awaitMails({ site, recorder }: World): Promise<void> {
  const deadline = Date.now() + mailDeadlineMs;
  const isLost = () => {
    const { promisedMails, deliveries, redemptions } = recorder.history(site.smtp.messages, budgets, [], []);
    return lostMails(promisedMails, deliveries, redemptions).length > 0;
  };
  while (Date.now() < deadline && isLost()) await Bun.sleep(pollMs);
}

/** Presents tokens of the whole run once more: what had ended must stay ended, and nothing else. */
async function verifyAgain(world: World): Promise<void> {
  const { recorder, random } = world;
  const left = [...recorder.tokens];
  while (left.length > finalTokens) left.splice(random.below(left.length), 1);
  const client = async () => {
    for (let token = left.pop(); token !== undefined; token = left.pop())
      await verify(world, token, finalTries);
  };
  await Promise.all(Array.from({ length: finalClients }, client));
}

const reportOn = (recoveries: ReadonlyMap<string, readonly number[]>): Record<string, FaultReport> =>
  Object.fromEntries(
    [...recoveries].map(([name, ms]) => [
      name,
      { count: ms.length, longestRecoveryMs: Math.round(Math.max(...ms)) },
    ]),
  );

/** The same seed makes the same choices, but at other moments. */
export async function runFaults(run: Run): Promise<Report> {
  const { store, seed, only } = run;
  const random = randomFrom(seed);
  const site = store === 'sqlite' ? await openSqliteSite() : await openPostgresSite(random);
  try {
    const recorder = new FaultRecorder();
    let isOver = false;
    const serviceKey = await registerService({ env: site.settings() }, 'projects', '--may', 'feed');
    const world: World = { site, recorder, random, serviceKey, isOver: () => isOver };
    const verifiers = verifiersFor(world);
    const readers = readerNames.map((name) => new FeedReader(world, name));
    for (const reader of readers) await reader.read();
    const crowd = liveIn(world, verifiers, readers);
    await awaitCrowd(world);
    const faults = site.faults.filter(({ name }) => name === (only ?? name));
    const recoveries = await makeFaults(world, faults, run);
    isOver = true;
    await crowd;
    await awaitMails(world);
    await verifyAgain(world);
    for (const verifier of verifiers) verifier.close();
    for (const reader of readers) await reader.drain();
    const feed = await new FeedReader(world).drain();
    const { code, stdout: verified, stderr } = await runOperator(site.settings(), 'events', 'verify');
    const history = recorder.history(
      site.smtp.messages,
      budgets,
      code === 0 ? [] : [`${verified}${stderr}`],
      feed,
    );
    return {
      operations: recorder.operations,
      faults: reportOn(recoveries),
      skipped: site.skipped,
      violations: violationsIn(history),
      mailsSentAgain: excusedMails(history),
      serverErrors: recorder.serverErrors,
    };
  } finally {
    await site.stop();
  }
}
