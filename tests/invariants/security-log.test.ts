// The operator prints and verifies the security log, on both databases.

import { expect, test } from 'bun:test';
import { onBothDatabases } from '#support/app.ts';
import { linesIn, operatorOn } from '#support/service.ts';
import { fresh } from '#support/shared.ts';
import { generateKey } from '../../packages/server/src/platform/crypto/primitives.ts';
import { recordEvent } from '../../packages/server/src/security-log/events/events.ts';
import { batchSize } from '../../packages/server/src/security-log/events/reading.ts';

onBothDatabases('the security log for the operator', (open) => {
  const t = fresh(open);
  const operatorWith = (LATCHKEY_KEYS: string) =>
    operatorOn({ HOME: '/nowhere', DATABASE_URL: t.databaseUrl, LATCHKEY_KEYS });
  const printed = async () =>
    linesIn(await operatorWith(t.keys).done('events', 'follow', '--once')).map((line) => JSON.parse(line));

  test('it is printed as JSON lines, complete and with its seals, in more than one batch, and verified so', async () => {
    const hostile = 'a"\\{}\u00e9</script>';
    for (const name of ['ada', 'eve']) await t.login(`${name}@example.com`);
    const { access_token: token } = await t.login();
    await t.ask('PATCH', '/me', { token, json: { name: 'x' }, headers: { 'User-Agent': hostile } });
    const all = await printed();
    expect(all.map(({ seq, type }) => [seq, type])).toEqual([
      [1, 'account_created'],
      [2, 'login'],
      [1, 'account_created'],
      [2, 'login'],
      [3, 'login'],
      [4, 'profile_changed'],
    ]);
    expect(Object.keys(all[5]!).sort()).toEqual(
      [
        ...['created_at', 'detail', 'id', 'ip_address', 'mac', 'position', 'seq', 'session_id', 'type'],
        ...['user_agent', 'user_id'],
      ].sort(),
    );
    expect(all[5].user_agent).toBe(hostile);

    const [{ user_id: userId }] = all;
    for (let n = 0; n < batchSize; n++)
      await t.ctx.db.transaction((tx) => recordEvent(t.ctx, tx, { type: 'login', userId }));
    expect(await printed()).toHaveLength(all.length + batchSize);
    expect(await operatorWith(t.keys).done('events', 'verify', '--user', 'ada@example.com')).toBe(
      `Checked ${batchSize + 4} events of 1 account: no changes found.\n`,
    );
  });

  test('verification, also with retired keys, finds a changed or removed event', async () => {
    for (const name of ['ada', 'late', 'changed']) await t.login(`${name}@example.com`);
    const first = (await printed()).findLast(({ type }) => type === 'account_created');
    const { done } = operatorWith(t.keys);
    expect(await done('events', 'verify')).toBe('Checked 6 events of 3 accounts: no changes found.\n');

    const key = generateKey();
    const rotated = operatorWith(key);
    await rotated.refused(['events', 'verify'], 1, 'Set LATCHKEY_KEYS');
    const both = operatorWith(`${key},${t.keys}`);
    // The newest seal is under the new key.
    for (const change of ['disable', 'enable']) await both.done('users', change, 'ada@example.com');
    const retired = await rotated.run('events', 'verify');
    expect(retired.code).toBe(1);
    expect(retired.stdout).toContain(': no changes found in the events that can be checked.\n');
    expect(retired.stdout).toMatch(/\d+ seals cannot be checked because these keys are not set: [\w-]{7}\./);
    expect((await rotated.run('events', 'verify', '--lenient')).code).toBe(0);
    await both.done('events', 'verify');

    /** As an attacker does with write access to the store, but without a key. */
    const tamper = (text: string) => t.ctx.db.single.run(text, []);
    await tamper(`UPDATE events SET type = 'login' WHERE id = '${first.id}'`);
    const found = await both.run('events', 'verify');
    expect(found.code).toBe(1);
    expect(found.stdout).toMatch(/: 1 log not intact\.\n$/);
    expect(found.stdout).toContain(`${first.user_id}: changed: event 1\n`);
    await both.done('events', 'verify', '--user', 'ada@example.com');
    await tamper(`DELETE FROM events WHERE user_id = '${first.user_id}' AND seq = 2`);
    const { stdout } = await both.run('events', 'verify', '--user', 'changed@example.com');
    expect(stdout).toContain('removed: event 2');
    // A count that was continued without its key stays unchecked.
    await rotated.run('users', 'disable', 'late@example.com');
    expect((await both.run('events', 'verify', '--user', 'late@example.com')).stdout).toMatch(
      /seals? cannot be checked because a key was not set at the time of writing\.\n$/,
    );
  });
});
