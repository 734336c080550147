// Runs sign-ins of every kind, successful and not, and then searches: no secret may appear in the output or the store.

import { expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import postgres from 'postgres';
import { type Answer, type Ask, onBothDatabases } from '#support/app.ts';
import { request } from '#support/http.ts';
import { startService, type TestService } from '#support/service.ts';
import { until } from '#support/until.ts';
import type { Dialect } from '../../packages/server/src/platform/database/executor.ts';

/** Must not be logged; tokens and codes must not be stored either. */
interface Secrets {
  readonly tokens: Set<string>;
  readonly codes: Set<string>;
  readonly addresses: Set<string>;
}

type Send = (method: string, path: string, ask?: Ask) => Promise<Answer>;
type ReadMails = () => Promise<{ readonly to: string; readonly text: string }[]>;

const ada = 'Ada.Lovelace@secret.example';
const bob = "o'brien+x@secret.example";
const same = { 'Sec-Fetch-Site': 'same-origin' };

/** Signs in in every way, fails in every way, and sends tokens where they do not belong. */
async function scenario(send: Send, readMails: ReadMails): Promise<Secrets> {
  const secrets: Secrets = {
    tokens: new Set(),
    codes: new Set(),
    addresses: new Set([ada, bob, 'eve@secret.example']),
  };
  const note = (answer: Answer): Answer => {
    const found = `${answer.text} ${answer.headers.get('Set-Cookie') ?? ''}`;
    for (const [token] of found.matchAll(/lk_[a-z]{2}_[\w-]+/g)) secrets.tokens.add(token);
    if (answer.body?.user_code) secrets.codes.add(answer.body.user_code);
    return answer;
  };
  const post = async (path: string, json: unknown, ask: Ask = {}) =>
    note(await send('POST', path, { json, ...ask }));
  const mailTo = async (email: string) => {
    const { body } = await post('/magic_link', { email });
    const mail = (await readMails()).find(({ to }) => to === email)!;
    const token = /lk_ml_[\w-]+/.exec(mail.text)![0];
    const code = /^\d{4}-\d{4}$/m.exec(mail.text)![0];
    secrets.tokens.add(token);
    secrets.codes.add(code);
    return { token, code, request: body.request as string };
  };

  const link = await mailTo(ada);
  await post('/magic_link/verify', { token: `${link.token}x`, email: ada });
  await post('/magic_link/verify', { token: link.token, email: 'eve@secret.example' });
  const { body: tokens } = await post('/magic_link/verify', { token: link.token });
  expect(tokens.access_token).toStartWith('lk_at_');
  await post('/magic_link/verify', { token: link.token });

  const coded = await mailTo(bob);
  for (const wrong of ['0000-0000', 'BCDF-GHJK', 'x', coded.code.slice(1)])
    await post('/magic_link/verify', { request: coded.request, code: wrong });
  expect((await post('/magic_link/verify', { request: coded.request, code: coded.code })).status).toBe(200);

  const inCookie = await mailTo(ada);
  const cookieLogin = await post(
    '/magic_link/verify?session=cookie',
    { token: inCookie.token },
    { headers: same },
  );
  const cookie = cookieLogin.headers.get('Set-Cookie')!.split(';')[0]!;
  expect((await send('GET', '/me', { cookie, headers: same })).status).toBe(200);
  await send('GET', '/me', { cookie: `${cookie}x`, headers: same });

  const newKey = { name: 'build', scope: '*', expires_in: 3_600 };
  const { key } = (await post('/keys', newKey, { token: tokens.access_token })).body;
  expect(key).toStartWith('lk_ak_');
  expect((await send('GET', '/me', { token: key })).status).toBe(200);
  await send('GET', '/me', { token: `${key}x` });

  const device = (await post('/device', { client_name: 'cli', device_name: 'laptop' })).body;
  await post('/token', { device_code: device.device_code });
  await post('/device/verify', { user_code: device.user_code }, { token: tokens.access_token });
  await post('/device/approve', { user_code: 'BCDF-GHJL' }, { token: tokens.access_token });
  await post('/device/approve', { user_code: device.user_code }, { token: tokens.access_token });
  const keyed = { headers: { 'Idempotency-Key': 'secret-key-of-the-client' } };
  const first = (await post('/token', { device_code: device.device_code }, keyed)).body;
  expect(first.refresh_token).toStartWith('lk_rt_');
  const second = (await post('/refresh', { refresh_token: first.refresh_token }, keyed)).body;
  const form = { grant_type: 'refresh_token', refresh_token: second.refresh_token };
  note(await send('POST', '/token', { form }));
  await post('/refresh', { refresh_token: first.refresh_token });

  await post('/me/email', { email: 'eve@secret.example' }, { token: tokens.access_token });
  // Mails arrive one at a time, and each reading waits for one more.
  const kindsOf = (tokens: readonly string[]) => new Set(tokens.map((token) => token.slice(0, 6)));
  let mailed: string[] = [];
  for (let reading = 0; reading < 5 && kindsOf(mailed).size < 2; reading++)
    mailed = (await readMails()).flatMap(({ text }) => text.match(/lk_(?:nm|ec)_[\w-]+/g) ?? []);
  expect(kindsOf(mailed)).toEqual(new Set(['lk_nm_', 'lk_ec_']));
  for (const token of mailed) {
    secrets.tokens.add(token);
    await post('/me/email/verify', { token: `${token}x` });
    await post('/notices/disown', { token: `${token}x` });
  }

  for (const secret of [...secrets.tokens]) {
    const headers = {
      'X-Request-Id': secret,
      'User-Agent': `curl ${secret}`,
      'Idempotency-Key': secret,
      Referer: secret,
    };
    await send('GET', '/me', { token: secret, headers });
    await send('GET', `/${secret}?token=${secret}`, { headers });
    const basic = { Authorization: `Basic ${Buffer.from(`${secret}:${secret}`).toString('base64')}` };
    await send('POST', '/introspect', { form: { token: secret }, headers: { ...headers, ...basic } });
    await send('DELETE', `/sessions/${secret}`, {
      token: tokens.access_token,
      headers: { 'X-Request-Id': secret },
    });
    await send('GET', `/organizations?cursor=${secret}`, {
      token: tokens.access_token,
      headers: { Origin: secret },
    });
    await send('POST', '/magic_link', {
      raw: `{"${secret}":1,"${secret}":2}`,
      headers: { 'Content-Type': 'application/json' },
    });
    await send('POST', '/magic_link', { raw: secret, headers: { 'Content-Type': 'application/json' } });
  }
  for (const word of [...secrets.codes, ...secrets.addresses]) {
    await send('GET', `/${encodeURIComponent(word)}?email=${encodeURIComponent(word)}`, {
      headers: { From: word },
    });
    await post('/magic_link', { email: `${word} <x>` });
    await post('/device/verify', { user_code: word }, { token: tokens.access_token });
  }
  expect(secrets.tokens.size).toBeGreaterThan(12);
  expect(secrets.codes.size).toBe(4);
  return secrets;
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

function expectAbsent(where: string, text: string, words: Iterable<string>): void {
  const lower = text.toLowerCase();
  const found = [...words].filter((word) => lower.includes(word.toLowerCase()));
  expect({ where, found }).toEqual({ where, found: [] });
}

function expectNoSecretsInLog(log: string, secrets: Secrets): void {
  const codes = [...secrets.codes].flatMap((code) => [code, code.replace('-', '')]);
  expectAbsent('log', log, [...secrets.tokens].flatMap(partsOf));
  expectAbsent('log', log, codes);
  expectAbsent('log', log, secrets.addresses);
  expectAbsent('log', log, [
    'secret.example',
    'secret-key-of-the-client',
    'lk_at_',
    'lk_rt_',
    'lk_bs_',
    'lk_dc_',
    'lk_ak_',
  ]);
}

function expectNoSecretsInStore(dump: string, secrets: Secrets): void {
  const codes = [...secrets.codes].flatMap((code) => [code, code.replace('-', '')]);
  expect(dump).toContain(ada);
  expectAbsent(
    'store',
    dump,
    [...secrets.tokens].flatMap(partsOf).filter((part) => part !== ''),
  );
  expectAbsent('store', dump, codes);
  expectAbsent('store', dump, ['secret-key-of-the-client']);
}

/** All that a service has stored: the bytes of its file, or every row of every table. */
async function contentOf({ directory, env }: TestService, dialect: Dialect): Promise<string> {
  const path = join(directory, 'latchkey.db');
  if (dialect === 'sqlite')
    return [path, `${path}-wal`]
      .filter(existsSync)
      .map((file) => readFileSync(file, 'latin1'))
      .join('');
  const sql = postgres(env['DATABASE_URL']!, { max: 1, onnotice: () => undefined });
  const tables = await sql`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`;
  expect(tables.length).toBeGreaterThan(8);
  const rows = await Promise.all(tables.map(({ tablename }) => sql`SELECT * FROM ${sql(tablename)}`));
  await sql.end();
  return JSON.stringify(rows);
}

onBothDatabases('secrets', (open, dialect) => {
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

  test('no token, code, cookie or address is in the output of a service, and no token or code in its store', async () => {
    const keys = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url');
    const service = await startService({
      env: { LATCHKEY_KEYS: keys, LATCHKEY_RATE_LIMITS: 'on' },
      dialect,
    });
    const send: Send = (method, path, sent) => request(service.url, method, path, sent);
    const readMails: ReadMails = async () => {
      const read = async () => (await send('GET', 'dev/mailbox.json')).body.messages;
      await until(async () => (await read()).length > mailsSeen, 'a mail');
      const waiting = await read();
      mailsSeen = waiting.length;
      return waiting;
    };
    let mailsSeen = 0;
    const secrets = await scenario(send, readMails);
    expect(await service.stop()).toBe(0);
    const [stdout, stderr] = [service.logs().join('\n'), service.stderr()];
    for (const line of service.logs()) expect(JSON.parse(line)).toBeObject();
    expect(stdout).toContain('"route":"/api/v1/auth/me"');
    expect(stderr).toContain('Latchkey is ready');
    expectNoSecretsInLog(stdout + stderr, secrets);
    expectAbsent('output', stdout + stderr, [keys]);
    expectNoSecretsInStore(await contentOf(service, dialect), secrets);
  });
});
