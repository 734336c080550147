// `latchkey token --federated`: a job without a secret, against a real service and an issuer that speaks GitHub's claims.

import { beforeAll, expect, test } from 'bun:test';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { latchkeyProcess, newHome } from '#support/cli.ts';
import { loginByMail, request } from '#support/http.ts';
import { githubClaims, startIssuer } from '#support/issuer.ts';
import { startService } from '#support/service.ts';
import { shared } from '#support/shared.ts';

const issuer = shared(() => startIssuer());
const service = shared(() =>
  startService({
    env: { LATCHKEY_TRUSTED_ISSUERS: issuer.url },
  }),
);
let keyId: string;

beforeAll(async () => {
  const { access_token: token } = await loginByMail(service.url, 'ada@job.example');
  const sub = String(githubClaims('')['sub']);
  const key = { name: 'build', scope: 'profile email', expires_in: 3600 };
  const json = { ...key, trust: { issuer: issuer.url, claims: { sub, ref: 'refs/heads/main' } } };
  const created = await request(service.url, 'POST', '/keys', { token, json });
  expect(created.status).toBe(201);
  keyId = created.body.id;
});

const tokenIn = (env: Record<string, string>, ...args: string[]) =>
  latchkeyProcess(newHome({ LATCHKEY_SERVER: service.url, ...env }), 'token', '--federated', keyId, ...args);

const assertion = (changed = {}) => issuer.sign(githubClaims(service.url, changed));

test('the job gets a token within the key, and nothing is stored', async () => {
  const home = newHome({ LATCHKEY_SERVER: service.url, ...issuer.job() });
  const { code, stdout, stderr } = await latchkeyProcess(home, 'token', '--federated', keyId);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^lk_at_\S+\n$/);
  expect((await request(service.url, 'GET', '/me', { token: stdout.trim() })).status).toBe(200);
  expect(existsSync(join(home.path, '.config'))).toBe(false);
  const narrow = await tokenIn(issuer.job(), '--scope', 'email', '--expires', '2m', '--json');
  expect(JSON.parse(narrow.stdout)).toMatchObject({ scope: 'email', expires_in: 120 });
});

test('the token of the job comes from the file, else from the variable, else from GitHub; a service or GitHub that does not answer is 4', async () => {
  const file = join(newHome().path, 'token');
  writeFileSync(file, `${await assertion()}\n`);
  const job = issuer.job();
  const github = issuer.job((audience) => githubClaims(audience, { ref: 'refs/heads/other' }));
  const wrong = { ...github, LATCHKEY_ID_TOKEN: 'not.a.token' };
  for (const [env, code] of [
    [{ ...wrong, LATCHKEY_ID_TOKEN_FILE: file }, 0],
    [{ ...wrong, LATCHKEY_ID_TOKEN_FILE: `${file}\n`, LATCHKEY_SERVER: ` ${service.url}\r\n` }, 0],
    [{ ...github, LATCHKEY_ID_TOKEN: await assertion() }, 0],
    [{ ...job, ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'wrong' }, 4],
    [{ ...job, LATCHKEY_SERVER: 'http://127.0.0.1:9' }, 4],
    // An old one does not matter.
    [{ ...github, LATCHKEY_ID_TOKEN: await assertion(), LATCHKEY_TOKEN: 'lk_at_expired' }, 0],
    [github, 1],
  ] as const)
    expect([env, (await tokenIn(env)).code]).toEqual([env, code]);
});

test('a refused token is status 1, and no output holds it', async () => {
  const refused = await assertion({ ref: 'refs/heads/other' });
  const { code, stdout, stderr } = await tokenIn({ LATCHKEY_ID_TOKEN: refused });
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toStartWith('latchkey: The assertion, the key or the issuer is not valid.\n');
  expect(stderr).not.toContain(refused);
  const wider = await tokenIn({ LATCHKEY_ID_TOKEN: await assertion() }, '--scope', 'organizations');
  expect([wider.code, wider.stdout]).toEqual([1, '']);
});
