// npm run test:soak [-- MINUTES [sqlite|postgres]]: starts a service, measures how many requests it answers, and holds half of that
// while it samples what the service uses. Without a store, on both one after the other.

import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import postgres from 'postgres';
import { startPostgres } from '#support/postgres.ts';
import { registerService, startService, type TestService, temporaryDirectory } from '#support/service.ts';
import { plainText, startSmtp } from '#support/smtp.ts';
import { cpuSeconds, memoryOf } from '../../bench/support/processes.ts';
import { type Load, startLoad } from './load.ts';
import { type Sample, trendsOf, valuesOf } from './trends.ts';
import { type Inbox, readFeedUntil, visitUntil, type World } from './visits.ts';

type Store = 'sqlite' | 'postgres';

interface Soak {
  readonly store: Store;
  /** Without the time in which the full rate is measured. */
  readonly seconds: number;
  readonly sampleSeconds: number;
  /** How long requests are sent at the full rate. Only the second half of that time is measured. */
  readonly fullSeconds: number;
}

const visitors = 24;
/** The longest time that something is kept: a session for a week, and then its row for a month. */
const keptDays = 38;
const jumpDays = 20 / 24;
const jumpsPerSoak = 120;
const minJumpSeconds = 10;

/**
 * With a jump of its clock at these intervals, the service lives through 50 days in half of a soak. In a short one it never jumps: a
 * visit may last longer there than the time between two jumps, and then its links would have expired.
 */
const jumpSecondsOf = (seconds: number): number =>
  seconds < minJumpSeconds * jumpsPerSoak ? Number.POSITIVE_INFINITY : seconds / jumpsPerSoak;

const weekSeconds = String(7 * 86_400);
const daySeconds = String(86_400);

/** Short lifetimes, so that rows come and go. Each outlives a jump of the clock. */
const lifetimes = {
  LATCHKEY_ACCESS_TOKEN_TTL: weekSeconds,
  LATCHKEY_REFRESH_IDLE_TTL: weekSeconds,
  LATCHKEY_SESSION_TTL: weekSeconds,
  LATCHKEY_RECENT_LOGIN_TTL: weekSeconds,
  LATCHKEY_MAGIC_LINK_TTL: daySeconds,
  LATCHKEY_DEVICE_CODE_TTL: daySeconds,
  LATCHKEY_EVENT_RETENTION: weekSeconds,
  LATCHKEY_DEVICE_POLL_INTERVAL: '1',
};

const serverMain = join(import.meta.dir, '../../packages/server/src/main.ts');
const fastClock = join(import.meta.dir, 'fast-clock.ts');

/** When the clock of the service started, and how often it jumps. */
interface Jumps {
  readonly startedAt: number;
  readonly everySeconds: number;
}

/** The clock of PostgreSQL, by which events of the feed are dated, jumps with that of the service. */
const jumpingClock = ({ startedAt, everySeconds }: Jumps): string =>
  `CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$
    SELECT now + interval '20 hours' * floor((extract(epoch FROM now) - ${startedAt / 1000}) / '${everySeconds}'::float8)
    FROM pg_catalog.clock_timestamp() AS now $$`;

async function openStore(store: Store, jumps: Jumps) {
  if (store === 'sqlite') {
    const file = join(temporaryDirectory(), 'latchkey.db');
    const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    return { databaseUrl: `sqlite:${file}`, databaseBytes: async () => sizeOf(file) + sizeOf(`${file}-wal`) };
  }
  const databaseUrl = await (await startPostgres({ durable: true })).createDatabase();
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  await sql.unsafe(jumpingClock(jumps));
  await sql.unsafe(
    `ALTER DATABASE ${new URL(databaseUrl).pathname.slice(1)} SET search_path = public, pg_catalog`,
  );
  return {
    databaseUrl,
    databaseBytes: async () => {
      const [row] = await sql<{ bytes: string }[]>`SELECT pg_database_size(current_database()) AS bytes`;
      return Number(row?.bytes);
    },
    close: () => sql.end(),
  };
}

/** Samples what happened since the last call, or since it was made. */
function sampler({ pid }: TestService, load: Load, databaseBytes: () => Promise<number>) {
  const startedAt = performance.now();
  let windowFrom = startedAt;
  let cpuFrom = cpuSeconds(pid);
  load.takeLatencies();
  return async (): Promise<Sample> => {
    const latenciesMs = load.takeLatencies().sort((a, b) => a - b);
    const now = performance.now();
    const cpu = cpuSeconds(pid);
    const seconds = (now - windowFrom) / 1000;
    const sample = {
      atSeconds: (now - startedAt) / 1000,
      residentBytes: memoryOf(pid).resident,
      descriptors: readdirSync(`/proc/${pid}/fd`).length,
      cpuShare: (cpu - cpuFrom) / seconds,
      databaseBytes: await databaseBytes(),
      latenciesMs,
      requestsPerSecond: latenciesMs.length / seconds,
    };
    windowFrom = now;
    cpuFrom = cpu;
    return sample;
  };
}

/** The requests per second that are answered without a limit. */
async function measureFullRate(load: Load, fullSeconds: number): Promise<number> {
  await Bun.sleep((fullSeconds * 1000) / 2);
  load.takeLatencies();
  const from = performance.now();
  await Bun.sleep((fullSeconds * 1000) / 2);
  return load.takeLatencies().length / ((performance.now() - from) / 1000);
}

/** Sends requests at the full rate, then at half of it; hands over each sample. */
async function live(
  world: World,
  service: TestService,
  soak: Soak,
  databaseBytes: () => Promise<number>,
  onSample: (sample: Sample) => void,
) {
  const { load } = world;
  let isOver = false;
  const over = () => isOver;
  const clients = [
    readFeedUntil(world, over),
    ...Array.from({ length: visitors }, () => visitUntil(world, over)),
  ];
  try {
    const fullRate = await measureFullRate(load, soak.fullSeconds);
    load.limit(Math.max(1, fullRate / 2));
    const takeSample = sampler(service, load, databaseBytes);
    const samples: Sample[] = [];
    const startedAt = performance.now();
    for (let n = 1; n * soak.sampleSeconds <= soak.seconds; n++) {
      await Bun.sleep(startedAt + n * soak.sampleSeconds * 1000 - performance.now());
      const sample = await takeSample();
      samples.push(sample);
      onSample(sample);
    }
    return { fullRate, samples };
  } finally {
    // Also if the service has crashed.
    isOver = true;
    load.limit(Number.POSITIVE_INFINITY);
    await Promise.all(clients);
  }
}

/** Runs one soak, and returns what was measured. Needs Linux: /proc tells what the service uses. */
export async function runSoak(soak: Soak, onSample: (sample: Sample) => void = () => {}) {
  const inbox: Inbox = new Map();
  const smtp = await startSmtp({
    onMail: ({ to, raw }) => {
      const token = /#token=(lk_ml_[\w-]+)/.exec(plainText(raw))?.[1];
      if (token !== undefined) for (const address of to) inbox.set(address, token);
    },
  });
  const jumps: Jumps = { startedAt: Date.now(), everySeconds: jumpSecondsOf(soak.seconds) };
  const store = await openStore(soak.store, jumps);
  const service = await startService({
    databaseUrl: store.databaseUrl,
    env: {
      ...lifetimes,
      LATCHKEY_SMTP_URL: smtp.url,
      SOAK_STARTED_AT: String(jumps.startedAt),
      SOAK_JUMP_SECONDS: String(jumps.everySeconds),
    },
    program: [process.execPath, '--preload', fastClock, serverMain],
  });
  const load = startLoad(service.url);
  const serviceKey = await registerService(service, 'projects', '--may', 'feed');
  const world: World = { load, inbox, visits: 0, serviceKey };
  const lived = await live(world, service, soak, store.databaseBytes, onSample);
  const exitCode = await service.stop();
  await Promise.all([store.close?.(), smtp.close()]);
  // Half of the soak is long enough that what the service keeps longest has gone before.
  const isJudged = (soak.seconds / 2 / jumps.everySeconds) * jumpDays >= keptDays;
  return { ...lived, load, visits: world.visits, exitCode, isJudged };
}

const print = (line: string): void => void process.stdout.write(`${line}\n`);

const maxPrinted = 20;

/** Returns whether nothing was unexpected, and everything flat that was judged. */
async function report(store: Store, minutes: number): Promise<boolean> {
  print(`${store}, ${minutes} minutes`);
  const soak = { store, seconds: minutes * 60, sampleSeconds: 10, fullSeconds: 10 };
  const result = await runSoak(soak, (sample) => print(JSON.stringify(valuesOf(sample))));
  const { samples, fullRate, load, visits, exitCode, isJudged } = result;
  const trends = trendsOf(samples);
  print(`The second half${isJudged ? '' : ', which is too short to judge'}:\n${Bun.inspect.table(trends)}`);
  print(`Half of ${Math.round(fullRate)} requests/s, in ${visits} visits.`);
  for (const answer of load.unexpected.slice(0, maxPrinted)) print(`Unexpected: ${answer}`);
  print(`${load.unexpected.length} unexpected answers; the service exited with ${exitCode}.`);
  const isFlat = !isJudged || Object.values(trends).every((trend) => trend.isFlat);
  return isFlat && load.unexpected.length === 0 && exitCode === 0;
}

if (import.meta.main) {
  const minutes = Number(process.argv[2] ?? 30);
  const named = process.argv[3];
  const stores = (['sqlite', 'postgres'] as const).filter((store) => store === (named ?? store));
  if (stores.length === 0 || !(minutes * 60 >= 10)) {
    process.stderr.write('usage: npm run test:soak [-- MINUTES [sqlite|postgres]]\n');
    process.exit(2);
  }
  let isGood = true;
  for (const store of stores) isGood = (await report(store, minutes)) && isGood;
  print(isGood ? 'passed' : 'failed');
  process.exit(isGood ? 0 : 1);
}
