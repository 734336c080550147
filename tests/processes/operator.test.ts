// Operator commands against the store of a running service, on both databases.

import { describe, expect, test } from 'bun:test';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { loginByMail, request } from '../support/http.ts';
import { isLong, processDialects } from '../support/long.ts';
import {
  registerService,
  runOperator,
  runOperatorProcess,
  startService,
  temporaryDirectory,
} from '../support/service.ts';
import { shared } from '../support/shared.ts';

/** Standard error of a command that succeeds. */
const storeLine = /^Store: (sqlite:\/|postgres:\/\/[\w.:]+\/)\S+\n$/;

for (const dialect of processDialects) {
  describe(`the operator (${dialect})`, () => {
    const service = shared(() => startService({ dialect }));
    const operator = (...args: string[]) => runOperator(service.env, ...args);

    test('a refused operator command explains what is wrong and changes nothing', async () => {
      await loginByMail(service.url, 'subject@example.com');
      await operator('organizations', 'create', '--slug', 'taken', '--name', 'x');
      const member = (slug: string, email: string, role: string) => [
        ...['organizations', 'add-member', '--slug', slug, '--email', email, '--role', role],
      ];
      const wrong: [string[], string][] = [
        [['organizations', 'create', '--slug', 'Bad Slug', '--name', 'x'], 'slug: must be'],
        [
          ['organizations', 'create', '--slug', 'taken', '--name', 'x'],
          'There already is an organization taken',
        ],
        [member('none', 'subject@example.com', 'member'), 'no organization'],
        [member('taken', 'nobody@example.com', 'member'), 'no account'],
        [member('taken', 'subject@example.com', 'king'), '--role'],
        [['users', 'disable', 'nobody@example.com'], 'no account'],
        [['users', 'explode', 'nobody@example.com'], 'Unknown command'],
        [['services', 'create', ' '], 'The name must be'],
        [['services', 'revoke', 'svc_unknown'], 'no active service'],
      ];
      for (const [args, sentence] of wrong) {
        const { code, stderr } = await operator(...args);
        expect(code).not.toBe(0);
        expect(stderr).toContain(sentence);
      }
    });

    test('sign-out ends all sessions of one account or of every account, and approved devices too; everyone can sign in again', async () => {
      const [ada, bob] = ['out-ada@example.com', 'out-bob@example.com'] as const;
      const [hers, his] = [await loginByMail(service.url, ada), await loginByMail(service.url, bob)];
      const status = async (token: string) => (await request(service.url, 'GET', '/me', { token })).status;
      const { body: device } = await request(service.url, 'POST', '/device');
      const approval = { token: hers.access_token, json: { user_code: device.user_code } };
      expect((await request(service.url, 'POST', '/device/approve', approval)).status).toBe(204);

      for (const args of [[], [ada, '--everybody']])
        expect((await operator('users', 'sign-out', ...args)).stderr).toContain('either an address or');
      expect([await status(hers.access_token), await status(his.access_token)]).toEqual([200, 200]);

      expect((await operator('users', 'sign-out', 'OUT-ada@example.com')).code).toBe(0);
      expect([await status(hers.access_token), await status(his.access_token)]).toEqual([401, 200]);
      const { device_code } = device;
      const redeemed = await request(service.url, 'POST', '/token', { json: { device_code } });
      expect([redeemed.status, redeemed.body.error]).toEqual([400, 'invalid_grant']);

      const again = await loginByMail(service.url, ada);
      expect((await operator('users', 'sign-out', '--everybody')).stdout).toMatch(
        /^Ended all sessions of \d+ accounts\.\n$/,
      );
      expect([await status(again.access_token), await status(his.access_token)]).toEqual([401, 401]);
      const { access_token: token } = await loginByMail(service.url, bob);
      const { body } = await request(service.url, 'GET', '/events', { token });
      expect(body.events[1]).toMatchObject({
        type: 'all_sessions_revoked',
        session_id: null,
        detail: { by: 'operator' },
      });
    });

    test('a rotated signing key is published before it signs', async () => {
      const rotate = (...options: string[]) => operator('keys', 'rotate-signing', ...options);
      expect(Date.parse(/signs from (\S+)\.$/m.exec((await rotate()).stdout)![1]!)).toBeLessThan(Date.now());
      const second = /signs from (\S+)\.$/m.exec((await rotate()).stdout)![1]!;
      expect(Date.parse(second)).toBeGreaterThan(Date.now() + 600_000);
      const published = async () =>
        (
          (await (await fetch(`${service.url}/.well-known/jwks.json`)).json()) as { keys: { alg: string }[] }
        ).keys
          // Those of identity tokens rotate with them.
          .filter(({ alg }) => alg === 'ES256');
      expect(await published()).toHaveLength(2);
      const list = (await operator('keys', 'list', '--json')).stdout.trim().split('\n');
      const algorithms = list.map((line) => JSON.parse(line).algorithm).filter((one) => /^[ER]S/.test(one));
      expect(algorithms.sort()).toEqual(['ES256', 'ES256', 'RS256', 'RS256']);
    });

    test.if(isLong)('after rotate --at-once no old signing key is published or signs', async () => {
      const published = async () => {
        const answer = await fetch(`${service.url}/.well-known/jwks.json`);
        const { keys } = (await answer.json()) as { keys: { kid: string; alg: string }[] };
        return keys.filter(({ alg }) => alg === 'ES256').map(({ kid }) => kid);
      };
      const key = await registerService(service, 'verifier');
      const signedBy = async () => {
        const answer = await fetch(`${service.url}/api/v1/auth/introspect`, {
          method: 'POST',
          headers: {
            Authorization: `Basic ${Buffer.from(key).toString('base64')}`,
            Accept: 'application/token-introspection+jwt',
          },
          body: new URLSearchParams({ token: 'x' }),
        });
        return JSON.parse(Buffer.from((await answer.text()).split('.')[0]!, 'base64url').toString()).kid;
      };
      // Makes the node cache the old key set.
      const before = await published();
      const rotation = operator('keys', 'rotate-signing', '--at-once');
      let polling = true;
      const polled = (async () => {
        while (polling) await published();
      })();
      const { code, stderr } = await rotation;
      const after = await published();
      polling = false;
      await polled;
      expect(code).toBe(0);
      expect(stderr).toMatch(/^Waiting 18 s until all nodes/m);
      expect(after).toHaveLength(1);
      expect(before).not.toContain(after[0]!);
      expect(await signedBy()).toBe(after[0]!);
    });

    test('disabling an account ends its sessions at once and for good; once enabled, its owner can sign in again', async () => {
      const tokens = await loginByMail(service.url, 'shut@example.com');
      const refresh = { json: { refresh_token: tokens.refresh_token } };
      expect((await operator('users', 'disable', 'Shut@example.com')).code).toBe(0);
      expect((await request(service.url, 'GET', '/me', { token: tokens.access_token })).status).toBe(401);
      expect((await request(service.url, 'POST', '/refresh', refresh)).body.error).toBe('account_disabled');
      const refused = expect(loginByMail(service.url, 'shut@example.com')).rejects;
      await refused.toMatchObject({ status: 403, code: 'account_disabled' });
      expect((await operator('users', 'enable', 'shut@example.com')).code).toBe(0);
      expect((await request(service.url, 'POST', '/refresh', refresh)).body.error).toBe('invalid_grant');
      expect((await loginByMail(service.url, 'shut@example.com')).access_token).toStartWith('lk_at_');
    });

    test('the operator can export the data of an account and delete it, which ends its sessions at once', async () => {
      const { access_token: token } = await loginByMail(service.url, 'Gone@example.com');
      const { body: profile } = await request(service.url, 'GET', '/me', { token });
      const shown = await operator('users', 'export', 'gone@EXAMPLE.com');
      expect(shown).toMatchObject({ code: 0, stderr: expect.stringMatching(storeLine) });
      const held = JSON.parse(shown.stdout);
      expect(held.users).toEqual([expect.objectContaining({ id: profile.id, email: 'Gone@example.com' })]);
      expect(held.sessions).toHaveLength(1);
      expect(held.outbox[0]).toMatchObject({ template: 'sign_in', recipient: 'Gone@example.com' });
      expect(shown.stdout).not.toMatch(/\blk_[a-z]{2}_/);

      const deleted = await operator('users', 'delete', 'gone@EXAMPLE.com');
      expect(deleted).toMatchObject({ code: 0, stderr: expect.stringMatching(storeLine) });
      expect((await request(service.url, 'GET', '/me', { token })).status).toBe(401);
      for (const command of ['delete', 'export']) {
        const again = await operator('users', command, 'gone@example.com');
        expect([again.code, again.stdout]).toEqual([1, '']);
        expect(again.stderr).toContain('no account');
      }
      const again = await loginByMail(service.url, 'gone@example.com');
      const me = await request(service.url, 'GET', '/me', { token: again.access_token });
      expect(me.body.id).not.toBe(profile.id);
    });
  });
}

test('only the user who runs the service can read or write its files', async () => {
  const service = await startService();
  await loginByMail(service.url, 'private@example.com');
  const files = readdirSync(service.directory).filter((name) => name.startsWith('latchkey'));
  expect(files).toContain('latchkey.db-wal');
  for (const name of files) {
    const mode = statSync(join(service.directory, name)).mode & 0o777;
    expect([name, mode.toString(8)]).toEqual([name, '600']);
  }
});

test('wrong usage exits with 2 and an explanation; help exits with 0', async () => {
  const env = { DATABASE_URL: `sqlite:${join(temporaryDirectory(), 'latchkey.db')}` };
  const wrong: [string[], string][] = [
    [['frobnicate'], "latchkey-server: Unknown command 'frobnicate'.\n"],
    [['serv'], '(Did you mean serve?)\nRun `latchkey-server --help` for usage.\n'],
    [['users', 'explode'], "Unknown command 'explode'"],
    [['serve', '--forever'], "Unknown option '--forever'"],
    [
      ['users', 'disable'],
      "Missing required argument 'address'.\nRun `latchkey-server users disable --help` for usage.\n",
    ],
    [['organizations', 'create', '--slug', 'acme'], "Required option '--name <name>' not specified"],
    [['users', 'sign-out'], 'either an address or --everybody'],
    [['users'], 'Usage: latchkey-server users'],
  ];
  for (const [args, sentence] of wrong) {
    const { code, stdout, stderr } = await runOperator(env, ...args);
    expect([args, code, stdout]).toEqual([args, 2, '']);
    expect(stderr).toContain(sentence);
  }
  const help = await runOperator(env, '--help');
  expect(help).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringContaining('Usage: latchkey-server'),
  });
  for (const args of [[], ['help']]) expect(await runOperator(env, ...args)).toEqual(help);
  expect((await runOperator(env, 'help', 'users')).stdout).toStartWith('Usage: latchkey-server users');
  expect((await runOperator(env, '--version')).code).toBe(0);
});

test('an invalid setting prevents the start with a message that names it', async () => {
  const wrong = { LATCHKEY_SIGNUP: 'sometimes, maybe', DATABASE_URL: 'sqlite:unused.db' };
  const { code, stderr } = await runOperatorProcess(wrong, 'serve');
  expect(code).toBe(1);
  expect(stderr).toContain('LATCHKEY_SIGNUP must be open, closed or');
});
