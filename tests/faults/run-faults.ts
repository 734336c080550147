// npm run test:faults [-- SECONDS [sqlite|postgres [SEED [FAULT]]]]: lets a crowd use a service while each fault happens to it once,
// and more until the time is over, and checks what they saw. Without a store, on both one after the other. With a fault, such as
// 'kill -9 of a node', only that.

import { type Random, randomFrom } from '#support/random.ts';
import { seed as chosenSeed } from '#support/seed.ts';
import { registerService, runOperator } from '#support/service.ts';
import { until } from '#support/until.ts';
import { lostMails, violationsIn } from './checker.ts';
import { liveIn, verify } from './crowd.ts';
import { deliveryOf } from './mails.ts';
import { openPostgresSite } from './postgres-site.ts';
import { Recorder } from './recorder.ts';
import { feedReader, verifiersFor } from './services.ts';
import type { Fault, Site } from './site.ts';
import { openSqliteSite } from './sqlite-site.ts';
import { anyAddress, type World } from './world.ts';

type Store = 'sqlite' | 'postgres';

interface Run {
  readonly store: Store;
  readonly seconds: number;
  readonly seed: number;
  /** The fault to make again and again. Default: all. */
  readonly only?: string | undefined;
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

/** Makes each possible fault once, and more until the time is over. Returns how long each recovery took. */
async function makeFaults(
  { site, recorder, random }: World,
  { seconds, only }: Run,
): Promise<Map<string, number[]>> {
  const recoveries = new Map<string, number[]>();
  const over = recorder.now() + seconds * 1000;
  const faults = site.faults.filter(({ name }) => name === (only ?? name));
  let drawn = 0;
  for (const { name, mayRepeatMails = false, isPossible, start, end } of shuffled(faults, random)) {
    if (drawn++ >= faults.length && recorder.now() >= over) break;
    if (isPossible?.() === false) continue;
    const startedAt = recorder.now();
    await start();
    await Bun.sleep(minFaultMs + random.below(random.oneIn(5) ? longFaultMs : usualFaultMs));
    const endsAt = recorder.now();
    await end();
    await Promise.all(site.nodes.map((node) => node.recovered(() => anyAddress(random)))).catch((error) => {
      throw new Error(`after "${name}": ${error}`);
    });
    const endedAt = recorder.now();
    recorder.faults.push({ name, mayRepeatMails, startedAt, endedAt });
    recoveries.set(name, [...(recoveries.get(name) ?? []), endedAt - endsAt]);
    await Bun.sleep(calmMs);
  }
  return recoveries;
}

const deliveriesAt = ({ smtp }: Site) => smtp.messages.map(deliveryOf);

/** Waits for every promised email that nothing has made useless. */
async function awaitMails({ site, recorder }: World): Promise<void> {
  const deadline = Date.now() + mailDeadlineMs;
  const isLost = () => lostMails({ ...recorder, deliveries: deliveriesAt(site) }).length > 0;
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

/** The same seed makes the same choices, but at other moments. */
export async function runFaults(run: Run) {
  const random = randomFrom(run.seed);
  const site = run.store === 'sqlite' ? await openSqliteSite() : await openPostgresSite(random);
  try {
    const recorder = new Recorder();
    const serviceKey = await registerService({ env: site.settings() }, 'projects', '--may', 'feed');
    const world: World = { site, recorder, random, serviceKey, isOver: false };
    const verifiers = verifiersFor(world);
    const readers = readerNames.map((name) => feedReader(world, name));
    for (const reader of readers) await reader.read();
    const crowd = liveIn(world, verifiers, readers);
    await awaitCrowd(world);
    const recoveries = await makeFaults(world, run);
    world.isOver = true;
    await crowd;
    await awaitMails(world);
    await verifyAgain(world);
    for (const verifier of verifiers) verifier.close();
    for (const reader of readers) await reader.drain();
    const feed = await feedReader(world).drain();
    const { code, stdout, stderr } = await runOperator(site.settings(), 'events', 'verify');
    const logDefects = code === 0 ? [] : [stdout + stderr];
    return {
      operations: recorder.operations,
      recoveries,
      violations: violationsIn({ ...recorder, deliveries: deliveriesAt(site), feed, logDefects }),
      serverErrors: recorder.serverErrors,
    };
  } finally {
    await Promise.all(site.nodes.map((node) => node.stop()));
    await site.close();
  }
}

const maxPrinted = 50;
const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** Returns whether there was no violation. */
async function report(run: Run): Promise<boolean> {
  const { operations, recoveries, violations, serverErrors } = await runFaults(run);
  const faults = [...recoveries].map(([fault, ms]) => {
    const longestRecoveryMs = Math.round(Math.max(...ms));
    return { fault, times: ms.length, longestRecoveryMs };
  });
  print(Bun.inspect.table(operations));
  print(Bun.inspect.table(faults));
  print(`${violations.length} violations; answers with 500: ${serverErrors.length}`);
  for (const violation of violations.slice(0, maxPrinted)) print(violation);
  return violations.length === 0;
}

if (import.meta.main) {
  const [seconds = '180', named, seed = chosenSeed, only] = process.argv.slice(2);
  const stores = (['sqlite', 'postgres'] as const).filter((store) => store === (named ?? store));
  if (stores.length === 0 || !(Number(seconds) > 0)) {
    process.stderr.write('usage: npm run test:faults [-- SECONDS [sqlite|postgres [SEED [FAULT]]]]\n');
    process.exit(2);
  }
  let isGood = true;
  for (const store of stores) {
    print(`${seconds} s with faults on ${store}, seed ${seed}`);
    isGood = (await report({ store, seconds: Number(seconds), seed: Number(seed), only })) && isGood;
  }
  process.exit(isGood ? 0 : 1);
}
