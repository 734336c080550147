// Every change of a signed-in user looks at its session in its own transaction: one whose session ends after the request was
// accepted, and before the change commits, has no effect.

import { beforeAll, expect, test } from 'bun:test';
import type { Endpoint } from '@latchkey/contract/endpoint';
import { endpoints } from '@latchkey/contract/endpoints';
import { byEndpoint } from '#support/account-operations.ts';
import { allRows, prepareAccount, prepareDatabase, sessionIn, untilBlocked } from '#support/account-scene.ts';
import { onBothDatabases, sharedNodes } from '#support/app.ts';
import { lockAccountRow } from '../../packages/server/src/accounts/locks.ts';
import type { Database, Executor } from '../../packages/server/src/platform/database/executor.ts';

/** The changes of signed-in users. */
const changes = byEndpoint.filter(([id]) => {
  const { access }: Endpoint = endpoints[id];
  return access !== 'anyone' && access !== 'service';
});

/** What a refused request may write: limits, a challenge that was spent, and when session and service key were used last. */
const unrelated = ['rate_limits', 'spent_challenges', 'address_locks', 'sessions', 'service_keys'];

/** All rows that a change could write. */
async function contentOf(on: Executor): Promise<string> {
  const sessions = await on.run('SELECT id, revoked_at, generation, path FROM sessions', []);
  const others = [...(await allRows(on, unrelated))].flatMap(([table, rows]) =>
    rows.map((row) => `${table} ${row}`),
  );
  return [...others, ...sessions.map((row) => JSON.stringify(row))].toSorted().join('\n');
}

onBothDatabases('a change whose session ends before it commits', (open, dialect) => {
  const { app, node } = sharedNodes(open, dialect);
  let service: string;
  beforeAll(async () => {
    service = await prepareDatabase(app);
  });

  /** Starts a change, and calls `end` before its transaction begins. */
  async function endBefore(change: () => Promise<unknown>, end: (tx: Executor) => Promise<void>) {
    const db = app.ctx.db as { transaction: Database['transaction'] };
    const { transaction } = db;
    db.transaction = async (work) => {
      db.transaction = transaction;
      await transaction(end);
      return transaction(work);
    };
    return { answering: change() };
  }

  /** Starts a change, and calls `end` while it waits for its account. */
  const endMeanwhile = (
    change: () => Promise<unknown>,
    end: (tx: Executor) => Promise<void>,
    userId: string,
  ) =>
    node.ctx.db.transaction(async (tx) => {
      await lockAccountRow(tx, { id: userId });
      const answering = change();
      await untilBlocked(node);
      await end(tx);
      return { answering };
    });

  test.each(changes)('has no effect: %s', async (_, { run }) => {
    const scene = await prepareAccount(app, service);
    const sessionId = sessionIn(app, { token: scene.tokens.access_token });
    let before = '';
    // SQLite has one writer at a time.
    const { answering } = await (dialect === 'sqlite' ? endBefore : endMeanwhile)(
      () => run(app, scene, 0),
      async (tx) => {
        await tx.run(`UPDATE sessions SET revoked_at = 1 WHERE id = '${sessionId}'`, []);
        before = await contentOf(tx);
      },
      scene.userId,
    );
    expect(await answering).toMatchObject({ status: 401, body: { error: 'invalid_token' } });
    expect(await contentOf(app.ctx.db.read)).toBe(before);
  });
});
