// Runs pairs of operations that write to one account in parallel, from two nodes on one PostgreSQL database: no deadlock,
// no 5xx and no long wait, and the responses and all rows of the account are those of one operation after the other, in
// one of the two orders (`npm test` runs one pair in sixty, `test:long` one in twelve, and both those that are likely to race).
// Every transaction locks the security log of the account last, so each race holds that lock until both operations have
// taken their earlier locks.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import postgres from 'postgres';
import { outcome } from '#support/account.ts';
import {
  digestWindowSeconds,
  type Operation,
  operations,
  type Side,
  sweep,
} from '#support/account-operations.ts';
import {
  type AccountScene,
  linkFor,
  prepareAccount,
  prepareDatabase,
  rowsOf,
  untilBlocked,
} from '#support/account-scene.ts';
import { openApp, type TestApp } from '#support/app.ts';
import { isLong } from '#support/long.ts';
import { newDatabase } from '#support/new-database.ts';
import { expectIntact } from '#support/security-log.ts';
import { turns, until } from '#support/until.ts';
import { deleteAccount } from '../../packages/server/src/whole-account/personal-data.ts';

type Pair = readonly [Operation, Operation];

/** Pairs that once raced to a wrong end, or whose race is the point of one of them. */
const notable: readonly string[] = [
  'approveDevice and denyDevice',
  'issueToken and withdrawal of an approval',
  'issueToken and cancellation of an approved device code',
  'loginWithPasskey and deleteAccount',
  'registerPasskey and deleteAccount',
  'updateProfile and deleteAccount',
  'logout and exchange by a service',
  'verifyMagicLink in a browser that is known and exchange by a page',
  'updateProfile and note of a limit',
  'disownNotice and refresh repeated from elsewhere',
];

const pairStep = isLong ? 12 : 60;
/** By the name, so that a new operation changes nothing about the pairs of the others. */
const isDrawn = (names: string): boolean => Bun.hash.crc32(names) % pairStep === 0;

/** Which of all pairs are raced: some of them, and those of one endpoint. */
function isRaced(first: number, second: number): boolean {
  const [[name, operation], [otherName, other]] = [operations[first]!, operations[second]!];
  return (
    isDrawn(`${name} and ${otherName}`) ||
    name.split(' ')[0] === otherName.split(' ')[0] ||
    notable.includes(`${name} and ${otherName}`) ||
    mustEnd([operation, other])
  );
}

/** Whether nothing may be left of one operation after the other, whichever was first. */
function mustEnd(pair: Pair): boolean {
  const ends = pair.map((operation) => operation.ends);
  return ends.includes('everything') && ends.includes('with the account');
}

let nodes: readonly [TestApp, TestApp, TestApp];
let service: string;

/** How many pairs are run in parallel. */
const parallel = 4;

beforeAll(async () => {
  const settings = { LATCHKEY_RATE_LIMITS: `off, notices=1/${digestWindowSeconds}` };
  const databaseUrl = await newDatabase('postgres');
  // PostgreSQL resolves no deadlock, so that each ends in a refusal: a lock is waited for no longer than five seconds.
  const admin = postgres(databaseUrl, { max: 1 });
  await admin.unsafe(`ALTER DATABASE ${new URL(databaseUrl).pathname.slice(1)} SET deadlock_timeout = '1h'`);
  await admin.end();
  const first = await openApp('postgres', { settings, databaseUrl });
  const beside = () => openApp('postgres', { beside: first, settings });
  nodes = [first, await beside(), await beside()];
  service = await prepareDatabase(first);
});

afterAll(async () => {
  await Promise.all(nodes.map((node) => node.close()));
});

type Response = Awaited<ReturnType<Operation['run']>>;
type Way = (scene: AccountScene, pair: Pair) => Promise<readonly Response[]>;

/** How many transactions wait for a lock of this one, or for one of those. */
const waiting = `WITH RECURSIVE waiting(pid) AS (
    SELECT pg_backend_pid()
    UNION SELECT l.pid FROM pg_locks l JOIN waiting w ON w.pid = ANY(pg_blocking_pids(l.pid)) WHERE NOT l.granted
  ) SELECT count(*) - 1 AS count FROM waiting`;

/** For how many turns of the event loop a race holds the lock if it cannot tell whether both have begun. */
const heldTurns = 50;

/**
 * Runs two operations at once, each on its own node, while the lock on the account's security log is held: the second one
 * begins when the first one waits for that lock or has been answered, and the lock is released when both do.
 */
const race =
  (...sides: readonly [Side, Side]): Way =>
  async (scene, pair) => {
    const running: Promise<Response>[] = [];
    await nodes[2].ctx.db.transaction(async (tx) => {
      await tx.run(`SELECT FROM event_chains WHERE user_id = '${scene.userId}' FOR UPDATE`, []);
      let answered = 0;
      const count = () => {
        answered++;
      };
      for (const [before, side] of sides.entries()) {
        running[side] = pair[side].run(nodes[side], scene, side);
        running[side].then(count, count);
        const hasBegun = async () => {
          const [row] = await tx.run<{ count: string }>(waiting, []);
          return answered + Number(row!.count) > before;
        };
        // What is not one transaction may wait for none of these locks, and for long.
        if (pair.some(({ isCompound }) => isCompound)) await turns(heldTurns);
        else await until(hasBegun, 'an operation that is answered or waits for a lock');
      }
    });
    return Promise.all(running);
  };

const inOrder =
  (...sides: readonly [Side, Side]): Way =>
  async (scene, pair) => {
    const answers: Response[] = [];
    for (const side of sides) answers[side] = await pair[side].run(nodes[side], scene, side);
    return answers;
  };

/** The tables of an account, and what finds its rows. */
const tables: Readonly<Record<string, string>> = {
  users: 'id = :user',
  sessions: 'user_id = :user',
  passkeys: 'user_id = :user',
  events: 'user_id = :user',
  feed_events: 'user_id = :user',
  notices: 'user_id = :user',
  notice_windows: 'user_id = :user',
  memberships: 'user_id = :user',
  email_changes: 'user_id = :user',
  authorization_codes: 'user_id = :user',
  device_authorizations: 'user_id = :user',
  magic_links: 'email = :email',
  outbox: "recipient LIKE '%' || :email",
  // Whether each run lives, with all that it is within.
  [`(SELECT user_id, (SELECT bool_and(s.id IS NOT NULL AND s.revoked_at IS NULL)
    FROM jsonb_array_elements_text(CAST(path AS jsonb)) AS step(id) LEFT JOIN sessions s ON s.id = step.id
  ) AS lives FROM sessions WHERE path IS NOT NULL)`]: 'user_id = :user',
};

/** Identifiers, secrets and times, and what a scene names after its number. */
const ownName = /[\w-]{20,}|\d{10,}|\bp\d+\b|scene-\d+/g;

/** The devices in a response are in no order. */
const unordered = /device_names.*?\]/g;

/** Columns that tell which of two operations was first, or what happens after the response. */
const ordering = /^(seq|position|mac|ordinal|once|since|last_used_at|sent_at|dead_at|attempts|last_error)$/;

/** All rows of an account, without its identifiers and times. */
async function contentOf({ userId, email }: AccountScene): Promise<string[]> {
  const text = Object.entries(tables).map(
    ([table, where]) =>
      `SELECT '${table}' AS "table", to_json(t) AS row FROM ${table} t WHERE ${where
        .replaceAll(':user', `'${userId}'`)
        .replaceAll(':email', `'${email}'`)}`,
  );
  const rows = await rowsOf<{ table: string; row: Record<string, unknown> }>(
    nodes[2],
    text.join(' UNION ALL '),
  );
  return rows
    .map(({ table, row }) => {
      const members = Object.entries(row).filter(([name, value]) => value !== null && !ordering.test(name));
      const text = members.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(' ');
      return `${table} ${text.replaceAll(unordered, '').replaceAll(ownName, '#')}`;
    })
    .toSorted();
}

let lastRace: Promise<unknown> = Promise.resolve();

/** One race at a time: requests of one turn share statements, and a statement that waits in two races would hold up both. */
const alone =
  (way: Way): Way =>
  (...scene) => {
    const result = lastRace.then(() => way(...scene));
    lastRace = result.catch(() => undefined);
    return result;
  };

/** What two operations answer, and the account they leave. */
interface Result {
  readonly failed: readonly Response[];
  readonly answers: readonly string[];
  readonly content: readonly string[];
}

async function resultOf(way: Way, pair: Pair): Promise<Result> {
  const scene = await prepareAccount(nodes[0], service);
  const answers = await way(scene, pair);
  const content = await contentOf(scene);
  const isGone = !content.some((row) => row.startsWith('users '));
  return {
    failed: answers.filter(({ status }) => status >= 500),
    // An operator may find an account, and then nothing to change, because it was deleted in between.
    // Why a request is refused depends on what it saw before it waited.
    answers: isGone ? [] : answers.map(({ status }) => (status < 400 ? `${status}` : 'refused')),
    content,
  };
}

const bothOrders: readonly (readonly [Side, Side])[] = [
  [0, 1],
  [1, 0],
];

async function requireOrder(names: string, pair: Pair): Promise<void> {
  const orders = bothOrders.slice(0, pair[0] === pair[1] ? 1 : 2);
  const races: Result[] = [];
  for (const order of orders) races.push(await resultOf(alone(race(...order)), pair));
  expect({ names, failed: races.flatMap(({ failed }) => failed) }).toEqual({ names, failed: [] });
  if (pair.some(({ isCompound }) => isCompound)) return;
  const inOrders: Result[] = [];
  for (const order of orders) inOrders.push(await resultOf(inOrder(...order), pair));
  for (const raced of races) {
    const isSame = (result: Result) => Bun.deepEquals(result, raced);
    expect({ names, ...raced }).toEqual({ names, ...(inOrders.find(isSame) ?? inOrders[0]!) });
  }
}

/** Calls `work` for each item, several in parallel. */
async function forEachOf<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const waiting = [...items];
  await Promise.all(
    Array.from({ length: parallel }, async () => {
      for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
    }),
  );
}

describe('two writes to one account at once', () => {
  for (const [index, [name, operation]] of operations.entries()) {
    test(`${name} and another write to the same account end as one after the other`, async () => {
      const raced = operations.filter((_, other) => other >= index && isRaced(index, other));
      await forEachOf(raced, ([otherName, other]) =>
        requireOrder(`${name} and ${otherName}`, [operation, other]),
      );
    });
  }

  test('the security logs of all these accounts are intact', () => expectIntact(nodes[0]));

  test('the sweep never deadlocks with a write to an account', async () => {
    // The first sweep deletes what the races above left, which takes too long for a race.
    await sweep.run(nodes[0], await prepareAccount(nodes[0], service), 0);
    for (const [name, operation] of operations.filter(([name]) => isDrawn(name)))
      await requireOrder(`sweep and ${name}`, [sweep, operation]);
  });
});

test('every pair that is always raced is one', () => {
  const names = operations.map(([name]) => name);
  for (const [first = '', second = ''] of notable.map((pair) => pair.split(' and ')))
    expect([first, second, names.indexOf(first) < names.indexOf(second)]).toEqual([
      first,
      second,
      names.includes(first),
    ]);
});

test('the deletion of an account waits for a sweep of its log, without a deadlock', async () => {
  const [node, , other] = nodes;
  const { userId, email } = await prepareAccount(node, service);
  // What a sweep does, with the deletion in between.
  const { deletion } = await other.ctx.db.transaction(async (tx) => {
    await tx.run(`SELECT FROM event_chains WHERE user_id = '${userId}' FOR NO KEY UPDATE`, []);
    const deletion = deleteAccount(node.ctx, email);
    deletion.catch(() => undefined);
    await untilBlocked(nodes[1]);
    await tx.run(`DELETE FROM events WHERE user_id = '${userId}'`, []);
    return { deletion };
  });
  await deletion;
  expect(await rowsOf(node, `SELECT id FROM users WHERE id = '${userId}'`)).toEqual([]);
});

test('links and codes of a new address, used in parallel on three nodes, create one account and sign in once', async () => {
  for (let round = 0; round < 4; round++) {
    const email = `everywhere-${round}@example.com`;
    const links = await Promise.all(Array.from({ length: 5 }, () => linkFor(nodes[0], email)));
    const uses = links.flatMap(({ token, request, code }, index) =>
      nodes.map((node) =>
        node.ask('POST', '/magic_link/verify', { json: index < 3 ? { token } : { request, code } }),
      ),
    );
    const answers = (await Promise.all(uses)).map(outcome).toSorted();
    expect(answers).toEqual(['200', ...Array(14).fill('400 invalid_grant')]);
    const sessions = `SELECT s.id FROM sessions s JOIN users u ON u.id = s.user_id WHERE u.email = '${email}'`;
    expect(await rowsOf(nodes[0], sessions)).toHaveLength(1);
  }
});
