// Runs a cluster under random operations and faults, and returns what its clients saw.

import { operations } from '@latchkey/client/operations';
import type { FeedAnswer } from '@latchkey/contract/feed';
import { writeFeedEvent } from '../../packages/server/src/security-log/feed/feed.ts';
import { type Random, randomFrom } from '../hostile/random.ts';
import { basic } from '../support/services.ts';
import { type Delays, delaysIn, violationsIn } from './checker.ts';
import { type Cluster, isRefusal, type ServiceProcess, startCluster } from './cluster.ts';
import { endSomething } from './ends.ts';
import type { FeedRow } from './history.ts';
import { Person, type World } from './people.ts';
import type { LiveToken, Recorder as RecorderType } from './recorder.ts';
import { Recorder } from './recorder.ts';

export interface Result {
  readonly operations: Readonly<Record<string, number>>;
  readonly faults: Readonly<Record<string, number>>;
  readonly feedEvents: number;
  /** From the answer of a revocation to the last acceptance, in milliseconds. */
  readonly delays: Delays;
  readonly violations: readonly string[];
}

const people = 6;
const nodeVerifiers = 3;
const readers = 3;
/** Longer than a service may accept what it remembers. */
const settleMs = 2_800;
/** Of each: so that every run has some. */
const faultPauseMs = 1_200;

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
  const { ended } = recorder;
  const tokens = [...(ended.length > 0 ? [random.pick(ended)] : []), ...recorder.some(random, 1)];
  await Promise.all(tokens.map((token) => verifyAtNode(world, random.below(3), token)));
}

/** Verifies what ended lately until a service refuses it, and some others. */
function serviceVerifier({ recorder, random }: World, service: ServiceProcess): Loop {
  const refused = new Set<number>();
  return async () => {
    const ended = recorder.ended.filter(({ id }) => !refused.has(id) || random.oneIn(20));
    const tokens = new Set([...ended, ...recorder.some(random, 3)]);
    await Promise.all(
      [...tokens].map(async ({ id, text }) => {
        const sentAt = recorder.now();
        const outcome = await service.verify(text);
        recorder.verified({ by: 'service', name: service.name, token: id, sentAt }, outcome);
        if (outcome === 'refused') refused.add(id);
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
  const { ctx } = cluster.operator;
  const ms = random.oneIn(8) ? 1_000 + random.below(1_500) : random.below(200);
  const fails = random.oneIn(4);
  recorder.count('faults', fails ? 'rollback' : 'late commit');
  await ctx.db.transaction(async (tx) => {
    await writeFeedEvent(ctx, tx, { type: 'account-enabled', userId: 'usr_late' });
    await Bun.sleep(ms);
    if (fails) throw new Error('rolled back');
  });
}

/** Kills nodes and services in turn. */
function killer({ cluster, random, recorder }: World): Loop {
  let kills = 0;
  return async () => {
    if (kills++ % 2 === 0) {
      recorder.count('faults', 'killed node');
      return cluster.restartNode(random.below(3));
    }
    recorder.count('faults', 'killed service');
    return random.pick(cluster.services).restart();
  };
}

async function readRows({ cluster, sessionIds, userIds }: World): Promise<FeedRow[]> {
  const rows = (await cluster.operator.ctx.db.read.run(
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

async function live(world: World, seconds: number): Promise<FeedRow[]> {
  const { cluster, random } = world;
  const feedReaders = Array.from({ length: readers }, (_, n) => new FeedReader(world, `r${n}`));
  for (const reader of feedReaders) await reader.read({ isReliable: true });
  const persons = Array.from({ length: people }, () => new Person(world));
  await Promise.all(persons.map((person) => person.signIn()));

  let phase: 'faults' | 'settling' | 'over' = 'faults';
  const isCalm = () => phase !== 'faults';
  const isOver = () => phase === 'over';
  const upTo = (ms: number) => () => random.below(ms);
  const disturbing = [
    ...persons.flatMap((person) => [
      repeat(isCalm, upTo(40), () => person.work()),
      repeat(isCalm, upTo(400), () => endSomething(person)),
    ]),
    repeat(isCalm, upTo(500), () => commitLate(world)),
    repeat(isCalm, () => faultPauseMs, killer(world)),
  ];
  const watching = [
    ...Array.from({ length: nodeVerifiers }, () =>
      repeat(
        isOver,
        () => 5,
        () => verifyAtNodes(world),
      ),
    ),
    ...cluster.services.map((service) => repeat(isOver, () => 5, serviceVerifier(world, service))),
    ...feedReaders.map((reader) =>
      repeat(isOver, upTo(20), async () => void (await reader.read({ maxEvents: 1 + random.below(20) }))),
    ),
  ];
  await Bun.sleep(seconds * 1000);
  phase = 'settling';
  await Promise.all(disturbing);
  world.recorder.faults['cut connection'] = cluster.mend();
  await Bun.sleep(settleMs);
  phase = 'over';
  await Promise.all(watching);
  for (const reader of feedReaders) await reader.drain();
  return readRows(world);
}

/** Runs for so many seconds under faults, and some more without. */
export async function runHistory(seconds: number, seed: number): Promise<Result> {
  const random: Random = randomFrom(seed);
  const cluster: Cluster = await startCluster(random);
  const recorder: RecorderType = new Recorder();
  const world: World = { cluster, recorder, random, sessionIds: new Map(), userIds: new Map() };
  try {
    const feed = await live(world, seconds);
    const history = recorder.history(feed);
    return {
      operations: recorder.operations,
      faults: recorder.faults,
      feedEvents: feed.length,
      delays: delaysIn(history),
      violations: violationsIn(history),
    };
  } finally {
    await cluster.stop();
  }
}
