// Uses everything that an account has, sends each secret where it does not belong, and then searches: no secret may appear in
// the output or the store.

import { expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { newAddress, sameOrigin } from '#support/account.ts';
import { useEverything } from '#support/account-operations.ts';
import { allRows, prepareAccount, prepareDatabase, retryKey } from '#support/account-scene.ts';
import { onBothDatabases, type TestApp } from '#support/app.ts';
import { startService } from '#support/service.ts';
import { handlePrefix } from '../../packages/server/src/platform/crypto/handle.ts';
import { generateKey } from '../../packages/server/src/platform/crypto/primitives.ts';

const ada = 'Ada.Lovelace@secret.example';
const bob = "o'brien+x@secret.example";

/** Collects the tokens and codes in all responses and mails of a service from now on. */
function collectSecrets(t: TestApp) {
  const tokens = new Set<string>();
  const codes = new Set<string>();
  const note = (text: string) => {
    for (const [token] of text.matchAll(/lk_[a-z]{2}_[\w-]+/g)) tokens.add(token);
    for (const [code] of text.matchAll(/(?<![\w-])(?:[B-Z]{4}-[B-Z]{4}|\d{4}-\d{4})(?![\w-])/g))
      codes.add(code);
  };
  const app = t.app as { fetch: TestApp['app']['fetch'] };
  const { fetch } = app;
  app.fetch = async (...call) => {
    const response = await fetch(...call);
    note(`${response.headers.get('Set-Cookie')} ${await response.clone().text()}`);
    return response;
  };
  return {
    tokens,
    codes,
    readMails: async () => {
      for (const { text } of await t.mails()) note(text);
    },
  };
}

/** Sends a secret in every place of a request, with and without the access token of a session. */
async function misuse(t: TestApp, secret: string, token: string): Promise<void> {
  const asJson = { 'Content-Type': 'application/json' };
  const headers = {
    'User-Agent': `curl ${secret}`,
    'Idempotency-Key': secret,
    Referer: secret,
    From: secret,
  };
  const basic = { Authorization: `Basic ${Buffer.from(`${secret}:${secret}`).toString('base64')}` };
  const path = encodeURIComponent(secret);
  for (const damaged of [secret, `${secret}x`]) await t.ask('GET', '/me', { token: damaged, headers });
  await t.ask('GET', '/me', { cookie: `latchkey_session=${secret}`, headers: sameOrigin });
  await t.ask('GET', `/${path}?token=${path}&email=${path}`, {
    headers: { ...headers, 'X-Request-Id': secret },
  });
  await t.ask('POST', '/introspect', { form: { token: secret }, headers: { ...headers, ...basic } });
  await t.ask('DELETE', `/sessions/${path}`, { token, headers: { 'X-Request-Id': secret } });
  await t.ask('GET', `/organizations?cursor=${path}`, { token, headers: { Origin: secret } });
  for (const raw of [`{"${secret}":1,"${secret}":2}`, secret])
    await t.ask('POST', '/magic_link', { raw, headers: asJson });
  for (const [to, json] of [
    ['/magic_link', { email: `${secret} <x>` }],
    ['/magic_link/verify', { token: `${secret}x`, email: secret }],
    ['/magic_link/verify', { request: secret, code: secret }],
    ['/token', { device_code: `${secret}x` }],
    ['/refresh', { refresh_token: `${secret}x` }],
    ['/me/email/verify', { token: `${secret}x` }],
    ['/notices/disown', { token: `${secret}x` }],
  ] as const)
    await t.ask('POST', to, { json });
  await t.ask('POST', '/device/verify', { json: { user_code: secret }, token });
}

/** The forms in which a token might leak: without its prefix, and its secret or MAC alone. */
function partsOf(token: string): string[] {
  const body = token.replace(/^lk_[a-z]{2}_/, '');
  const bytes = Buffer.from(body, 'base64url');
  const [subject, mac] = [bytes.subarray(6, 22), bytes.subarray(28)];
  const parts = [body, mac.toString('base64url'), mac.toString('hex'), mac.toString('base64')];
  // The subject of a link is the ID of its row; that of a session or a device code is its secret.
  if (/^lk_(?:m[lr]|nm|ec)_/.test(token)) return parts;
  return [...parts, subject.toString('base64url'), subject.toString('hex'), subject.toString('base64')];
}

/** The digits of a code may be part of a longer number, such as a time. */
const isIn = (text: string, word: string): boolean =>
  /^\d+$/.test(word) ? new RegExp(`(?<!\\d)${word}(?!\\d)`).test(text) : text.includes(word.toLowerCase());

function expectAbsent(where: string, text: string, words: Iterable<string>): void {
  const lower = text.toLowerCase();
  const found = [...words].filter((word) => isIn(lower, word));
  expect({ where, found }).toEqual({ where, found: [] });
}

/** All that a service has stored: the bytes of its file, or every row of every table. */
async function contentOf({ databaseUrl, ctx: { db } }: TestApp): Promise<string> {
  const path = databaseUrl.replace('sqlite:', '');
  if (db.dialect === 'sqlite')
    return [path, `${path}-wal`]
      .filter(existsSync)
      .map((file) => readFileSync(file, 'latin1'))
      .join('');
  return [...(await allRows(db.read)).values()].flat().join('\n');
}

onBothDatabases('secrets', (open) => {
  test('an unexpected error is logged with its origin, but without secrets of the request', async () => {
    const t = await open();
    const { access_token } = await t.login(ada);
    await t.ctx.db.single.run('ALTER TABLE magic_links RENAME TO away', []);
    const answer = await t.ask('POST', '/magic_link', {
      json: { email: ada },
      headers: { 'X-Request-Id': access_token },
    });
    expect([answer.status, answer.body.error]).toEqual([500, 'server_error']);
    expect(answer.text).not.toMatch(/magic_links|select|insert|\.ts/i);
    const log = t.logs.join('');
    expect(log).toContain('unexpected error');
    expectAbsent('log', log, [...partsOf(access_token), ada]);
  });

  test('no token, code, cookie or address is in the log, and no token or code in the store', async () => {
    const t = await open();
    const service = await prepareDatabase(t);
    const { tokens, codes, readMails } = collectSecrets(t);
    const scene = await prepareAccount(t, service);
    await readMails();
    await useEverything(t, scene);
    const { access_token } = await t.login(ada);
    await t.login(bob);
    await t.api.call('requestEmailChange', { accessToken: access_token, body: { email: newAddress() } });
    await readMails();
    const prefixes = new Set([...tokens].map((token) => token.slice(0, 6)));
    expect([...prefixes].toSorted()).toEqual(Object.values(handlePrefix).toSorted());
    expect(codes.size).toBeGreaterThan(4);
    const addresses = [ada, bob, scene.email];
    for (const secret of [...tokens, ...codes, ...addresses]) await misuse(t, secret, access_token);
    const spellings = [
      ...[...tokens].flatMap(partsOf),
      ...[...codes].flatMap((code) => [code, code.replace('-', '')]),
      ...[retryKey['Idempotency-Key'], t.keys],
    ];
    const log = t.logs.join('');
    expect(log).toContain('"route":"/api/v1/auth/me"');
    expectAbsent('log', log, [...spellings, ...addresses, 'secret.example', ...prefixes]);
    const stored = await contentOf(t);
    expect(stored).toContain(ada);
    expectAbsent('store', stored, spellings);
  });
});

test('what a service prints is an object a line, with neither its keys nor a token or an address', async () => {
  const keys = generateKey();
  const service = await startService({ env: { LATCHKEY_KEYS: keys } });
  const { access_token: token } = await service.login(ada);
  await service.ask('GET', `/${token}?email=${ada}`, { token });
  expect(await service.stop()).toBe(0);
  const logs = service.logs();
  for (const line of logs) expect(JSON.parse(line)).toBeObject();
  expect(service.stderr()).toContain('Latchkey is ready');
  expectAbsent('output', `${logs.join('\n')}${service.stderr()}`, [keys, ada, ...partsOf(token)]);
});
