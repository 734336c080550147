// The operator prints and verifies the security log of a running service, on both databases.

import { describe, expect, test } from 'bun:test';
import { spawnSync } from 'bun';
import postgres from 'postgres';
import { generateKey } from '../../packages/server/src/platform/crypto/primitives.ts';
import { batchSize } from '../../packages/server/src/security-log/events/reading.ts';
import { denyDevice, loginByMail, request } from '../support/http.ts';
import { serverProgram } from '../support/server-program.ts';
import { changeStore, linesIn, operatorOn, startService } from '../support/service.ts';
import { fresh } from '../support/shared.ts';

for (const dialect of ['sqlite', 'postgres'] as const) {
  describe(`the security log for the operator (${dialect})`, () => {
    const keys = generateKey();
    const hostile = 'a"\\{}\u00e9</script>';
    const service = fresh(async () => {
      const started = await startService({ dialect, env: { LATCHKEY_KEYS: keys } });
      for (const name of ['ada', 'eve']) await loginByMail(started.url, `${name}@example.com`);
      const { access_token: token } = await loginByMail(started.url, 'ada@example.com');
      const headers = { 'User-Agent': hostile };
      await request(started.url, 'PATCH', '/me', { token, json: { name: 'x' }, headers });
      return started;
    });
    const printed = async () =>
      linesIn(await operatorOn(service.env).done('events', 'follow', '--once')).map((line) =>
        JSON.parse(line),
      );
    /** An attacker with write access to the store, but without a key. */
    const tamper = async (text: string): Promise<void> => {
      if (dialect === 'sqlite') return changeStore(service, text);
      const sql = postgres(service.env['DATABASE_URL']!, { max: 1, onnotice: () => undefined });
      await sql.unsafe(text);
      await sql.end();
    };

    test('the security log is printed and verified completely, with its seals, also if it has more than one batch', async () => {
      const all = await printed();
      expect(all.slice(0, 6).map(({ seq, type }) => [seq, type])).toEqual([
        [1, 'account_created'],
        [2, 'login'],
        [1, 'account_created'],
        [2, 'login'],
        [3, 'login'],
        [4, 'profile_changed'],
      ]);
      expect(Object.keys(all[5]).toSorted()).toEqual([
        ...['created_at', 'detail', 'id', 'ip_address', 'mac', 'position', 'seq', 'session_id', 'type'],
        ...['user_agent', 'user_id'],
      ]);
      expect(all[5].user_agent).toBe(hostile);

      const { access_token: token } = await loginByMail(service.url, 'busy@example.com');
      for (let n = 0; n < batchSize; n += 10)
        await Promise.all(Array.from({ length: 10 }, () => denyDevice(service.url, token)));
      const written = batchSize + 2;
      expect(await printed()).toHaveLength(all.length + written);
      const command = `${serverProgram.join(' ')} events follow --once`;
      const head = spawnSync(['bash', '-c', `${command} | head -n 1; exit \${PIPESTATUS[0]}`], {
        env: { PATH: process.env['PATH'], ...service.env },
        cwd: service.directory,
      });
      expect([head.exitCode, head.stderr.toString()]).toEqual([0, expect.stringMatching(/^Store: \S+\n$/)]);
      expect(await operatorOn(service.env).done('events', 'verify', '--user', 'busy@example.com')).toBe(
        `Checked ${written} events of 1 account: no changes found.\n`,
      );
    });

    test('verification, also with retired keys, finds a changed or removed event', async () => {
      for (const name of ['late', 'changed']) await loginByMail(service.url, `${name}@example.com`);
      const first = (await printed()).findLast(({ type }) => type === 'account_created');
      expect(await operatorOn(service.env).done('events', 'verify')).toMatch(
        /^Checked \d+ events of \d+ accounts?: no changes found\.\n$/,
      );
      const { LATCHKEY_RETIRED_KEYS: _, ...settings } = service.env;
      const LATCHKEY_KEYS = generateKey();
      const rotated = operatorOn({ ...settings, LATCHKEY_KEYS });
      await rotated.refused(['events', 'verify'], 1, 'Set LATCHKEY_KEYS');
      const both = operatorOn({ ...service.env, LATCHKEY_KEYS: `${LATCHKEY_KEYS},${keys}` });
      // The newest seal is under the new key.
      for (const change of ['disable', 'enable']) await both.done('users', change, 'ada@example.com');
      expect(await rotated.run('events', 'verify')).toMatchObject({
        code: 1,
        stdout: expect.stringMatching(
          /: no changes found in the events that can be checked\.\n\d+ seals cannot be checked because these keys are not set: [\w-]{7}\./,
        ),
      });
      await rotated.done('events', 'verify', '--lenient');
      await both.done('events', 'verify');

      await tamper(`UPDATE events SET type = 'login' WHERE id = '${first.id}'`);
      expect(await both.run('events', 'verify')).toMatchObject({
        code: 1,
        stdout: expect.stringContaining(`${first.user_id}: changed: event 1\n`),
      });
      expect((await both.run('events', 'verify')).stdout).toEndWith(': 1 log not intact.\n');
      const verifyUser = (name: string) => both.run('events', 'verify', '--user', `${name}@example.com`);
      expect((await verifyUser('ada')).code).toBe(0);
      await tamper(`DELETE FROM events WHERE user_id = '${first.user_id}' AND seq = 2`);
      expect((await verifyUser('changed')).stdout).toContain('removed: event 2');
      // A count that was continued without its key stays unchecked.
      await rotated.done('users', 'disable', 'late@example.com');
      expect((await verifyUser('late')).stdout).toMatch(
        /seals? cannot be checked because a key was not set at the time of writing\.\n$/,
      );
    });
  });
}
