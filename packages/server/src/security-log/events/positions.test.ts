// The order of all events: none is passed over, whatever order transactions commit in, and no position is used again.

import { expect, test } from 'bun:test';
import { onBothDatabases, openApp, type TestApp } from '#support/app.ts';
import { auditAll, patchMe, signedIn } from '#support/security-log.ts';
import { fresh } from '#support/shared.ts';
import { openTransaction } from '#support/until.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { deleteAccount } from '../../whole-account/personal-data.ts';
import { recordEvent } from './events.ts';
import { listEventsAfterPosition } from './reading.ts';

const typesAfter = async (t: TestApp, position: number): Promise<string[]> =>
  (await listEventsAfterPosition(t.ctx, position)).map(({ type }) => type);

const lastPosition = async (t: TestApp): Promise<number> =>
  (await listEventsAfterPosition(t.ctx, 0)).at(-1)!.position;

onBothDatabases('positions of events', (open) => {
  const t = fresh(open);

  test('events of all accounts have rising positions in the order of their commits; one that is amended gets a new position, and those of a deleted account are not used again', async () => {
    expect(await listEventsAfterPosition(t.ctx, 0)).toEqual([]);
    const tokens = await signedIn(t);
    const { userId: eve } = await signedIn(t, 'eve@example.com');
    await patchMe(t, tokens, { name: 'Ada' });
    const events = await listEventsAfterPosition(t.ctx, 0);
    expect(events.map(({ user_id, type, seq }) => [user_id, type, seq])).toEqual([
      [tokens.userId, 'account_created', 1],
      [tokens.userId, 'login', 2],
      [eve, 'account_created', 1],
      [eve, 'login', 2],
      [tokens.userId, 'profile_changed', 3],
    ]);
    const positions = events.map(({ position }) => position);
    expect(positions).toEqual([...new Set(positions)].sort((a, b) => a - b));
    expect(await listEventsAfterPosition(t.ctx, positions[2]!)).toEqual(events.slice(3));
    await expect(listEventsAfterPosition(t.ctx, positions[4]! + 1)).rejects.toMatchObject({
      code: 'invalid_request',
    });

    await patchMe(t, tokens, { locale: 'de' });
    const changed = { type: 'profile_changed', detail: { fields: 'name locale' } };
    expect(await listEventsAfterPosition(t.ctx, positions[4]!)).toMatchObject([changed]);
    await t.login('eve@example.com');
    const before = await lastPosition(t);
    await deleteAccount(t.ctx, 'eve@example.com');
    expect(await t.ctx.db.read.run('SELECT user_id FROM event_chains', [])).toHaveLength(1);
    expect(await typesAfter(t, 0)).toEqual(['account_created', 'login', 'profile_changed']);
    expect(await auditAll(t)).toEqual({ problems: [], events: 3 });
    await t.login();
    expect(await typesAfter(t, before)).toEqual(['login']);
  });
});

test('an event that commits late is read before the later ones that committed first; one rolled back holds none back (PostgreSQL)', async () => {
  const t = await openApp('postgres');
  const { userId } = await signedIn(t);
  await t.login('eve@example.com');
  for (const commits of [true, false]) {
    const before = await lastPosition(t);
    const end = await openTransaction<Executor>(t.ctx.db.transaction, (tx) =>
      recordEvent(t.ctx, tx, { type: 'account_enabled', userId }),
    );
    await t.login('eve@example.com');
    expect(await typesAfter(t, before)).toEqual([]);
    if (commits) await end();
    else await expect(end(new Error('rolled back'))).rejects.toThrow('rolled back');
    expect(await typesAfter(t, before)).toEqual(commits ? ['account_enabled', 'login'] : ['login']);
  }
});
