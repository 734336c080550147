// The operator prints and verifies the security log of a running service, on both databases.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { spawnSync } from 'bun';
import postgres from 'postgres';
import { generateKey } from '../../packages/server/src/platform/crypto/primitives.ts';
import { batchSize } from '../../packages/server/src/security-log/events/reading.ts';
import { denyDevice, loginByMail, request } from '../support/http.ts';
import { serverProgram } from '../support/server-program.ts';
import { changeStore, runOperator, startService, type TestService } from '../support/service.ts';

/** Standard error of a command that succeeds. */
const storeLine = /^Store: \S+\n$/;

for (const dialect of ['sqlite', 'postgres'] as const) {
  describe(`the security log for the operator (${dialect})`, () => {
    let service: TestService;
    let env: Record<string, string>;
    const keys = generateKey();
    const operator = (...args: string[]) => runOperator(env, ...args);
    const printed = async () => {
      const { code, stdout, stderr } = await operator('events', 'follow', '--once');
      expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(storeLine) });
      return stdout
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line));
    };
    const hostile = 'a"\\{}\u00e9</script>';
    /** An attacker with write access to the store, but without a key. */
    const tamper = async (text: string): Promise<void> => {
      if (dialect === 'sqlite') return changeStore(service, text);
      const sql = postgres(env['DATABASE_URL']!, { max: 1, onnotice: () => undefined });
      await sql.unsafe(text);
      await sql.end();
    };

    beforeEach(async () => {
      service = await startService({ dialect, env: { LATCHKEY_KEYS: keys } });
      env = { ...service.env };
      for (const name of ['ada', 'eve']) await loginByMail(service.url, `${name}@example.com`);
      const { access_token: token } = await loginByMail(service.url, 'ada@example.com');
      const headers = { 'User-Agent': hostile };
      await request(service.url, 'PATCH', '/me', { token, json: { name: 'x' }, headers });
    });

    afterEach(async () => {
      await service.stop();
    });

    test('the security log is printed as JSON lines, complete, with its seals', async () => {
      const all = (await printed()).slice(0, 6);
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
    });

    test('a security log of more than one batch is printed and verified completely', async () => {
      const before = (await printed()).length;
      const { access_token: token } = await loginByMail(service.url, 'busy@example.com');
      for (let n = 0; n < batchSize; n += 10)
        await Promise.all(Array.from({ length: 10 }, () => denyDevice(service.url, token)));
      const written = batchSize + 2;
      expect(await printed()).toHaveLength(before + written);
      const command = `${serverProgram.join(' ')} events follow --once`;
      const head = spawnSync(['bash', '-c', `${command} | head -n 1; exit \${PIPESTATUS[0]}`], {
        env: { PATH: process.env['PATH'], ...env },
        cwd: service.directory,
      });
      expect([head.exitCode, head.stderr.toString()]).toEqual([0, expect.stringMatching(storeLine)]);
      const verified = await operator('events', 'verify', '--user', 'busy@example.com');
      expect(verified).toEqual({
        code: 0,
        stdout: `Checked ${written} events of 1 account: no changes found.\n`,
        stderr: expect.stringMatching(storeLine),
      });
    });

    test('verification, also with retired keys, finds a changed or removed event', async () => {
      for (const name of ['late', 'changed']) await loginByMail(service.url, `${name}@example.com`);
      const first = (await printed()).findLast(({ type }) => type === 'account_created');
      const whole = await operator('events', 'verify');
      expect(whole).toMatchObject({ code: 0, stderr: expect.stringMatching(storeLine) });
      expect(whole.stdout).toMatch(/^Checked \d+ events of \d+ accounts?: no changes found\.\n$/);

      const { LATCHKEY_RETIRED_KEYS: _, ...settings } = env;
      const rotated = { ...settings, LATCHKEY_KEYS: generateKey() };
      const foreign = await runOperator(rotated, 'events', 'verify');
      expect(foreign).toMatchObject({ code: 1, stderr: expect.stringContaining('Set LATCHKEY_KEYS') });
      const both = { ...env, LATCHKEY_KEYS: `${rotated.LATCHKEY_KEYS},${keys}` };
      // The newest seal is under the new key.
      for (const change of ['disable', 'enable'])
        expect((await runOperator(both, 'users', change, 'ada@example.com')).code).toBe(0);
      const retired = await runOperator(rotated, 'events', 'verify');
      expect(retired.code).toBe(1);
      expect(retired.stdout).toContain(': no changes found in the events that can be checked.\n');
      expect(retired.stdout).toMatch(
        /\d+ seals cannot be checked because these keys are not set: [\w-]{7}\./,
      );
      expect((await runOperator(rotated, 'events', 'verify', '--lenient')).code).toBe(0);
      env = both;
      expect((await operator('events', 'verify')).code).toBe(0);

      await tamper(`UPDATE events SET type = 'login' WHERE id = '${first.id}'`);
      const found = await operator('events', 'verify');
      expect(found.code).toBe(1);
      expect(found.stdout).toContain(`${first.user_id}: changed: event 1\n`);
      expect(found.stdout).toMatch(/: 1 log not intact\.\n$/);
      expect((await operator('events', 'verify', '--user', 'ada@example.com')).code).toBe(0);
      await tamper(`DELETE FROM events WHERE user_id = '${first.user_id}' AND seq = 2`);
      expect((await operator('events', 'verify', '--user', 'changed@example.com')).stdout).toContain(
        'removed: event 2',
      );
      // A count that was continued without its key stays unchecked.
      expect((await runOperator(rotated, 'users', 'disable', 'late@example.com')).code).toBe(0);
      expect((await operator('events', 'verify', '--user', 'late@example.com')).stdout).toMatch(
        /seals? cannot be checked because a key was not set at the time of writing\.\n$/,
      );
    });
  });
}
