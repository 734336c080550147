// Which pages may send the cookie: tests/invariants/access.test.ts, platform/http/origin.test.ts and server.test.ts.

import { expect, test } from 'bun:test';
import {
  addPasskey,
  cookieByMail,
  disown,
  newAddress,
  newAuthenticator,
  outcome,
  requestOptions,
  sameOrigin,
  sessionCookieIn,
  subjects,
} from '#support/account.ts';
import { type Link, linkFor } from '#support/account-scene.ts';
import { type Answer, onBothDatabases, openApp, type TestApp } from '#support/app.ts';
import { shared } from '#support/shared.ts';
import { until } from '#support/until.ts';
import { setDisabled } from '../identity/account/account.ts';
import { recognizeBrowser } from '../identity/known-browsers/known-browsers.ts';
import type { Context } from '../platform/context.ts';
import { emailKeyOf } from '../platform/values/email-key.ts';

const day = 86_400;

/** Runs a request. Once it has committed a transaction, it cannot read from the database. */
function losingReadsAfterCommit(app: TestApp, request: () => Promise<Answer>): Promise<Answer> {
  const { db } = app.ctx;
  const use = (changed: Context['db']) => void Object.assign(app.ctx, { db: changed });
  const read = { ...db.read, run: () => Promise.reject(new Error('lost')) };
  const transaction: typeof db.transaction = (work) =>
    db.transaction(work).finally(() => use({ ...db, read }));
  use({ ...db, transaction });
  return request().finally(() => use(db));
}

onBothDatabases('a browser session', (open) => {
  const app = shared(open);
  const me = (cookie: string, on: TestApp = app) => on.ask('GET', '/me', { cookie, headers: sameOrigin });

  test('a sign-in of a page, by link, code or passkey, answers the profile alone even if nothing can be read after its commit, makes the browser known, and ends the session that it had of that user, and no other; one for tokens, one that fails and one as another user end nothing, and the first two set no cookie', async () => {
    const email = newAddress();
    const authenticator = newAuthenticator(app);
    await addPasskey(app, await app.login(email), authenticator);
    const byMail = async (...members: readonly (keyof Link)[]) => {
      const link = await linkFor(app, email);
      return Object.fromEntries(members.map((member) => [member, link[member]]));
    };
    const ways: [method: string, path: string, prove: () => Promise<object>][] = [
      ['magic_link', '/magic_link/verify', () => byMail('token')],
      ['email_code', '/magic_link/verify', () => byMail('request', 'code')],
      ['passkey', '/passkey/login', async () => authenticator.get(await requestOptions(app))],
    ];
    const elsewhere = await cookieByMail(app, email);
    const { access_token: token } = await app.login(email);
    let cookie = '';
    for (const [method, path, prove] of ways) {
      const asPage = { headers: sameOrigin, ...(cookie && { cookie }) };
      const proof = { json: await prove(), ...asPage };
      const forTokens = await app.ask('POST', path, proof);
      const failed = await app.ask('POST', `${path}?session=cookie`, proof);
      expect([forTokens, failed].map(outcome)).toEqual(['200', '400 invalid_grant']);
      for (const { headers } of [forTokens, failed]) expect(headers.getSetCookie()).toEqual([]);
      if (cookie) {
        await cookieByMail(app, newAddress(), cookie);
        expect(outcome(await me(cookie))).toBe('200');
      }
      const sent = { json: await prove(), ...asPage };
      const signIn = () => app.ask('POST', `${path}?session=cookie`, sent);
      const answer = await losingReadsAfterCommit(app, signIn);
      expect(Object.keys(answer.body)).toEqual(['user']);
      const [, known] = /latchkey_browser=([^;]+)/.exec(answer.headers.getSetCookie().join()) ?? [];
      expect(await recognizeBrowser(app.ctx, known, emailKeyOf(email))).toBeDefined();
      if (cookie) expect(outcome(await me(cookie))).toBe('401 invalid_token');
      cookie = sessionCookieIn(answer);
      const { sessions } = (await app.ask('GET', '/sessions', { cookie, headers: sameOrigin })).body;
      expect(sessions[0]).toMatchObject({ kind: 'browser', method, current: true });
    }
    for (const one of [cookie, elsewhere]) expect(outcome(await me(one))).toBe('200');
    expect(outcome(await app.ask('GET', '/me', { token }))).toBe('200');
  });

  test('a bearer token in the same request overrides the session cookie, valid or not', async () => {
    const [email, other] = [newAddress(), newAddress()];
    const cookie = await cookieByMail(app, email);
    const { access_token: token } = await app.login(other);
    const foreign = { Origin: 'https://evil.example.com', 'Sec-Fetch-Site': 'cross-site' };
    for (const headers of [sameOrigin, foreign])
      expect((await app.ask('GET', '/me', { cookie, token, headers })).body.email).toBe(other);
    const bad = await app.ask('GET', '/me', { cookie, token: 'garbage', headers: sameOrigin });
    expect(outcome(bad)).toBe('401 invalid_token');
    const logout = await app.ask('DELETE', '/logout', { cookie, token, headers: sameOrigin });
    expect([outcome(logout), logout.headers.get('Set-Cookie')]).toEqual(['204', null]);
    expect((await me(cookie)).body.email).toBe(email);
    expect(outcome(await app.ask('GET', '/me', { token }))).toBe('401 invalid_token');
  });

  test.each([
    [30 * day, 29 * day, 3],
    // A short idle timeout, too.
    [60, 40, 3],
    // Until the absolute lifetime of 180 days.
    [30 * day, 20 * day, 8],
  ])(
    'with an idle timeout of %d s, a cookie that is used every %d s is set again %d times',
    async (idle, every, times) => {
      const own = await open({ settings: { LATCHKEY_REFRESH_IDLE_TTL: String(idle) } });
      const cookie = await cookieByMail(own, newAddress());
      const cookieSet = async () => (await me(cookie, own)).headers.get('Set-Cookie');
      expect(await cookieSet()).toBeNull();
      for (let use = 0; use < times; use++) {
        own.pass(every);
        expect(await cookieSet()).toContain(`Max-Age=${idle}`);
        // The response does not wait for the use to be recorded.
        await until(async () => (await cookieSet()) === null, 'a response without a cookie');
      }
      own.pass(times === 8 ? every : idle);
      expect(outcome(await me(cookie, own))).toBe('401 invalid_token');
    },
  );

  test('a disabled account loses its cookies at once, on every node, but not the links of its notices', async () => {
    const node = await open({ beside: app });
    const email = newAddress();
    const cookie = await cookieByMail(app, email);
    await addPasskey(app, await app.login(email), newAuthenticator(app));
    for (const on of [app, node]) expect(outcome(await me(cookie, on))).toBe('200');
    await setDisabled(app.ctx, email, true);
    for (const on of [app, node]) expect(outcome(await me(cookie, on))).toBe('401 invalid_token');
    expect(outcome(await disown(app, email, subjects.passkeyAdded))).toBe('200');
  });

  test('a session cookie that is duplicate, empty or malformed does not authenticate', async () => {
    const cookie = await cookieByMail(app, newAddress());
    for (const invalid of [`${cookie}; ${cookie}`, 'latchkey_session=', 'latchkey_session=x', 'other=1'])
      expect(outcome(await me(invalid))).toBe('401 invalid_token');
    for (const valid of [`a=1; ${cookie}; b=2`, `%;;=; {"é";${cookie}`, `x${cookie};${cookie}`])
      expect([valid, outcome(await me(valid))]).toEqual([valid, '200']);
  });
});

const [plain, bound] = ['latchkey_session', '__Host-latchkey_session'];

test.each([
  { baseUrl: 'http://localhost:8787', name: plain, other: bound, secure: [] },
  { baseUrl: 'https://auth.example.com', name: bound, other: plain, secure: ['Secure'] },
])(
  'no script sees the cookies of $baseUrl, the response holds only the profile, and on HTTPS they are Secure and bound to the host',
  async ({ baseUrl, name, other, secure }) => {
    const app = await openApp('sqlite', { settings: { LATCHKEY_BASE_URL: baseUrl } });
    const email = newAddress();
    const { token } = await linkFor(app, email);
    const headers = { Origin: baseUrl };
    const answer = await app.ask('POST', '/magic_link/verify?session=cookie', { json: { token }, headers });
    expect(answer.body.user).toMatchObject({ email, email_verified: true });
    expect(answer.text).not.toMatch(/lk_[a-z]{2}_/);
    const [cookie = '', ...attributes] = answer.headers.getSetCookie()[0]!.split('; ');
    const [named, value] = cookie.split('=');
    expect([named, value]).toEqual([name, expect.stringMatching(/^lk_bs_[\w-]+$/)]);
    const always = ['HttpOnly', `Max-Age=${30 * day}`, 'Path=/', 'SameSite=Lax'];
    expect(attributes.toSorted()).toEqual([...always, ...secure]);
    for (const [used, expected] of [
      [name, '200'],
      [other, '401 invalid_token'],
    ])
      expect(outcome(await app.ask('GET', '/me', { cookie: `${used}=${value}`, headers }))).toBe(expected!);
    // That by which the browser is known is sent for fewer pages, and for longer.
    const [known, ...limits] = answer.headers.getSetCookie()[1]!.split('; ');
    expect(known).toMatch(new RegExp(`^${name.replace('session', 'browser')}=[\\w-]+$`));
    const strict = ['HttpOnly', `Max-Age=${180 * day}`, 'Path=/', 'SameSite=Strict'];
    expect(limits.toSorted()).toEqual([...strict, ...secure]);
    const logout = await app.ask('DELETE', '/logout', { cookie, headers });
    expect(logout.headers.get('Set-Cookie')).toBe(
      [`${name}=`, 'Path=/', 'Max-Age=0', 'HttpOnly', 'SameSite=Lax', ...secure].join('; '),
    );
  },
);
