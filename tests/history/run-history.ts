// Runs a cluster under random operations and faults, and returns what its clients saw.

import { operations } from '@latchkey/client/operations';
import type { FeedAnswer } from '@latchkey/contract/feed';
import { writeFeedEvent } from '../../packages/server/src/security-log/feed-events/feed-events.ts';
import { randomFrom } from '../support/random.ts';
import { basic } from '../support/services.ts';
import { type Delays, delaysIn, violationsIn } from './checker.ts';
import { isRefusal, type ServiceProcess, startCluster } from './cluster.ts';
import { endSomething } from './ends.ts';
import type { FeedRow } from './history.ts';
import { Person, type World } from './people.ts';
import { type LiveToken, Recorder } from './recorder.ts';

export interface Result {
  readonly operations: Readonly<Record<string, number>>;
  readonly faults: Readonly<Record<string, number>>;
  readonly feedEvents: number;
  /** From the answer of a revocation to the last acceptance, in milliseconds: under faults, and without. */
  readonly delays: { readonly disturbed: Delays; readonly calm: Delays };
  readonly violations: readonly string[];
}

const people = 6;
const nodeVerifiers = 3;
const readers = 3;
/** Longer than a service may accept what it remembers. */
const settleMs = 2_800;
/** The longest time that a transaction stays open or a node is gone: longer than the feed may be silent. */
const longMs = 5_000;
const faultPauseMs = 1_000;
const pauseMs = () => 5;
const unknownPauseMs = 50;

type Loop = () => Promise<void>;

/** Repeats something until `isOver`. Failures are expected: nodes are killed, and sessions end. */
async function repeat(isOver: () => boolean, pauseMs: () => number, step: Loop): Promise<void> {
  while (!isOver()) {
    await step().catch(() => undefined);
    await Bun.sleep(pauseMs());
  }
}

async function verifyAtNode({ cluster, recorder }: World, index: number, token: LiveToken): Promise<void> {
  const sentAt = recorder.now();
  const outcome = await cluster
    .api(index)
    .call('getProfile', { accessToken: token.text })
    .then(
      () => 'accepted' as const,
      (error) => (isRefusal(error) ? ('refused' as const) : ('unknown' as const)),
    );
  recorder.verified({ by: 'node', name: `n${index}`, token: token.id, sentAt }, outcome);
}

/** One token that ended lately, and one that did not. */
async function verifyAtNodes(world: World): Promise<void> {
  const { recorder, random } = world;
  const ended = recorder.ended();
  const tokens = [...(ended.length > 0 ? [random.pick(ended)] : []), ...recorder.some(random, 1)];
  await Promise.all(tokens.map((token) => verifyAtNode(world, random.below(3), token)));
}

/**
 * Verifies what ended lately until a service refuses it, and some others. This process also measures, so it must not be busy:
 * what was refused is rarely verified again, and a service that cannot ask is not asked all the time.
 */
function serviceVerifier({ recorder, random }: World, service: ServiceProcess): Loop {
  const refused = new Set<number>();
  return async () => {
    const ended = recorder.ended().filter(({ id }) => !refused.has(id) || random.oneIn(500));
    const tokens = new Set([...ended, ...recorder.some(random, 3)]);
    await Promise.all(
      [...tokens].map(async ({ id, text }) => {
        const sentAt = recorder.now();
        const outcome = await service.verify(text);
        recorder.verified({ by: 'service', name: service.name, token: id, sentAt }, outcome);
        if (outcome === 'refused') refused.add(id);
        if (outcome === 'unknown') await Bun.sleep(unknownPauseMs);
      }),
    );
  };
}

/** A reader that acknowledges what it was handed, and asks again if an answer is lost. */
class FeedReader {
  readonly #world: World;
  readonly #name: string;
  #ack: string[] = [];

  constructor(world: World, name: string) {
    this.#world = world;
    this.#name = name;
  }

  /** Returns how many events came. */
  async read({ isReliable = false, maxEvents = 500 } = {}): Promise<number> {
    const { cluster, recorder, random } = this.#world;
    const index = random.below(3);
    const api = isReliable ? cluster.api(index) : cluster.unreliableApi(index);
    const sentAt = recorder.now();
    const request = { reader: this.#name, maxEvents, returnImmediately: isReliable, ack: this.#ack };
    const { body } = await api.send(operations.readFeed.path, {
      method: 'POST',
      headers: { Authorization: basic(cluster.serviceKey), 'Content-Type': 'application/json' },
      body: JSON.stringify(request),
    });
    const { sets, after } = body as FeedAnswer;
    this.#ack = Object.keys(sets);
    recorder.read({ reader: this.#name, sentAt, after, events: this.#ack });
    return this.#ack.length;
  }

  async drain(): Promise<void> {
    while ((await this.read({ isReliable: true })) > 0);
  }
}

/** A transaction that has written an event and commits late, or not at all. */
async function commitLate({ cluster, random, recorder }: World): Promise<void> {
  const { operator: ctx } = cluster;
  const ms = random.oneIn(8) ? random.below(longMs) : random.below(200);
  const fails = random.oneIn(4);
  recorder.count('faults', fails ? 'rollback' : 'late commit');
  await ctx.db.transaction(async (tx) => {
    await writeFeedEvent(ctx, tx, { type: 'account-enabled', userId: 'usr_late' });
    await Bun.sleep(ms);
    if (fails) throw new Error('rolled back');
  });
}

/** Kills services and nodes in turn. */
function killer({ cluster, random, recorder }: World): Loop {
  let kills = 0;
  return async () => {
    if (kills++ % 2 === 1) {
      recorder.count('faults', 'killed node');
      return cluster.restartNode(random.below(3), random.oneIn(2) ? 0 : random.below(longMs));
    }
    recorder.count('faults', 'killed service');
    return random.pick(cluster.services).restart();
  };
}

async function readRows({ cluster, sessionIds, userIds }: World): Promise<FeedRow[]> {
  const rows = (await cluster.operator.db.read.run(
    'SELECT id, user_id, session_id FROM feed_events ORDER BY seq',
    [],
  )) as { id: string; user_id: string; session_id: string | null }[];
  return rows.map(({ id, user_id, session_id }) => ({
    jti: id,
    account: userIds.get(user_id),
    // A session that was never looked up is none of those that are known.
    session: session_id === null ? undefined : (sessionIds.get(session_id) ?? 0),
  }));
}

/** How long a run lasts, besides starting and settling. */
export interface Duration {
  /** With kills, cut connections and late commits. */
  readonly disturbedSeconds: number;
  /** Without, afterwards. */
  readonly calmSeconds: number;
}

interface Lived {
  readonly feed: readonly FeedRow[];
  readonly calmFrom: number;
}

/** Until `isOver`: people who end something, and everything that goes wrong until `isCalm`. */
async function disturb(
  world: World,
  persons: readonly Person[],
  { isCalm, isOver }: Record<'isCalm' | 'isOver', () => boolean>,
) {
  const { cluster, recorder, random } = world;
  const upTo = (ms: number) => () => random.below(ms);
  const living = persons.flatMap((person) => [
    repeat(isOver, upTo(30), () => person.work()),
    repeat(isOver, upTo(1_000), () => endSomething(person)),
  ]);
  await Promise.all([
    repeat(isCalm, upTo(500), () => commitLate(world)),
    repeat(isCalm, () => faultPauseMs, killer(world)),
  ]);
  recorder.faults['cut connection'] = cluster.mend();
  return living;
}

async function live(world: World, { disturbedSeconds, calmSeconds }: Duration): Promise<Lived> {
  const { cluster, random, recorder } = world;
  const feedReaders = Array.from({ length: readers }, (_, n) => new FeedReader(world, `r${n}`));
  for (const reader of feedReaders) await reader.read({ isReliable: true });
  const persons = Array.from({ length: people }, () => new Person(world));
  await Promise.all(
    persons.map(async (person) => {
      await repeat(
        () => person.browser !== undefined,
        pauseMs,
        () => person.signIn(),
      );
      await person.growTree();
    }),
  );

  let phase: 'disturbed' | 'calm' | 'settling' | 'over' = 'disturbed';
  const isOver = () => phase === 'over';
  const watching = [
    ...Array.from({ length: nodeVerifiers }, () => repeat(isOver, pauseMs, () => verifyAtNodes(world))),
    ...cluster.services.map((service) => repeat(isOver, pauseMs, serviceVerifier(world, service))),
    ...feedReaders.map((reader) =>
      repeat(isOver, pauseMs, async () => void (await reader.read({ maxEvents: 1 + random.below(20) }))),
    ),
  ];
  const disturbing = disturb(world, persons, {
    isCalm: () => phase !== 'disturbed',
    isOver: () => phase === 'settling',
  });
  await Bun.sleep(disturbedSeconds * 1000);
  phase = 'calm';
  const living = await disturbing;
  if (calmSeconds > 0) await Bun.sleep(settleMs);
  const calmFrom = recorder.now();
  await Bun.sleep(calmSeconds * 1000);
  phase = 'settling';
  await Promise.all(living);
  await Bun.sleep(settleMs);
  phase = 'over';
  await Promise.all(watching);
  for (const reader of feedReaders) await reader.drain();
  return { feed: await readRows(world), calmFrom };
}

/**
 * Runs for this duration, and then until services remember nothing that has ended. The same seed makes the same choices, but
 * at other moments.
 */
export async function runHistory(duration: Duration, seed: number): Promise<Result> {
  const random = randomFrom(seed);
  const cluster = await startCluster(random);
  const recorder = new Recorder();
  const world: World = { cluster, recorder, random, sessionIds: new Map(), userIds: new Map() };
  try {
    const { feed, calmFrom } = await live(world, duration);
    const history = recorder.history(feed);
    return {
      operations: recorder.operations,
      faults: recorder.faults,
      feedEvents: feed.length,
      delays: {
        disturbed: delaysIn(history, { from: 0, until: calmFrom }),
        calm: delaysIn(history, { from: calmFrom, until: recorder.now() }),
      },
      violations: violationsIn(history),
    };
  } finally {
    await cluster.stop();
  }
}
