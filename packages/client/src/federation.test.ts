// A job that shows the token of its CI system or cluster.

import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openApp, type TestApp } from '../../../tests/support/app.ts';
import { apiOf, codeOf, fetchOf } from '../../../tests/support/client.ts';
import { githubClaims, startIssuer, type TestIssuer } from '../../../tests/support/issuer.ts';
import { createdKey } from '../../../tests/support/keys.ts';
import { temporaryDirectory } from '../../../tests/support/service.ts';
import { federatedToken } from './federation.ts';
import type { Fetch } from './transport.ts';

let service: TestApp;
let issuer: TestIssuer;
let keyId: string;

const names = [
  'LATCHKEY_ID_TOKEN_FILE',
  'LATCHKEY_ID_TOKEN',
  'ACTIONS_ID_TOKEN_REQUEST_URL',
  'ACTIONS_ID_TOKEN_REQUEST_TOKEN',
];
const clearEnvironment = () => {
  for (const name of names) delete process.env[name];
};

beforeAll(async () => {
  clearEnvironment();
  issuer = await startIssuer(() => service.ctx.clock());
  service = await openApp('sqlite', { settings: { LATCHKEY_TRUSTED_ISSUERS: issuer.url } });
  const trust = { issuer: issuer.url, claims: { sub: String(githubClaims('')['sub']) } };
  const owner = await service.login('ada@example.com');
  keyId = (await createdKey(service, owner, { scope: 'profile', trust })).id;
});
afterEach(clearEnvironment);
afterAll(async () => {
  await service.close();
  await issuer.stop();
});

/** Requests to the issuer leave this process. */
const api = (github: Fetch = (url, init) => fetch(url, init)) =>
  apiOf(service, (url, init) => (String(url).startsWith(issuer.url) ? github : fetchOf(service))(url, init));

test('GitHub is asked for a token for this service alone', async () => {
  Object.assign(process.env, issuer.job());
  const { access_token, scope } = await federatedToken({ api: api(), keyId });
  expect(scope).toBe('profile');
  expect((await service.ask('GET', '/me', { token: access_token })).status).toBe(200);
});

test('a token in a variable or a file may end in a line break', async () => {
  const file = join(temporaryDirectory(), 'token');
  const token = `${await issuer.sign(githubClaims(api().server))}\r\n`;
  writeFileSync(file, token);
  for (const set of [{ LATCHKEY_ID_TOKEN: token }, { LATCHKEY_ID_TOKEN_FILE: file }]) {
    clearEnvironment();
    Object.assign(process.env, set);
    expect((await federatedToken({ api: api(), keyId })).scope).toBe('profile');
  }
});

test('an answer of GitHub without a token is unreachable, and follows no redirect', async () => {
  Object.assign(process.env, issuer.job());
  const answers = [
    new Response(null, { status: 500 }),
    new Response('<html>'),
    Response.json({}),
    Response.json({ value: 7 }),
    Response.redirect(`${issuer.url}/elsewhere`),
  ];
  for (const answer of answers) {
    const before = issuer.requests.length;
    const github: Fetch = async (_, { redirect } = {}) => {
      if (redirect === 'error' && answer.status === 302) throw new TypeError('redirected');
      return answer;
    };
    expect(await codeOf(federatedToken({ api: api(github), keyId }))).toBe('unreachable');
    expect(issuer.requests).toHaveLength(before);
  }
});

test('an abort ends the request to GitHub', async () => {
  Object.assign(process.env, issuer.job());
  const stop = new AbortController();
  const waiting = federatedToken({
    api: api((_, init) => {
      queueMicrotask(() => stop.abort());
      return new Promise((_, reject) =>
        init?.signal?.addEventListener('abort', () => reject(new Error('aborted'))),
      );
    }),
    keyId,
    signal: stop.signal,
  });
  expect(await codeOf(waiting)).toBe('aborted');
});

test('without a token of the job nothing is sent', async () => {
  const silent = api(() => Promise.reject(new Error('sent')));
  await expect(federatedToken({ api: silent, keyId })).rejects.toThrow(TypeError);
});
