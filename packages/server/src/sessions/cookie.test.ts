import { describe, expect, test } from 'bun:test';
import { cookieByMail, newAddress, outcome, sameOrigin } from '../../../../tests/support/account.ts';
import { onBothDatabases, openApp, type TestApp } from '../../../../tests/support/app.ts';
import { shared } from '../../../../tests/support/shared.ts';
import { until } from '../../../../tests/support/until.ts';

const day = 86_400;
const allowed = 'https://dashboard.example.com';
const settings = { LATCHKEY_ALLOWED_ORIGINS: allowed };

async function mailTo(app: TestApp, email: string) {
  const { request } = (await app.ask('POST', '/magic_link', { json: { email } })).body;
  return { request, ...(await app.mails()).find(({ to }) => to === email)! };
}

onBothDatabases('a browser session', (open) => {
  const app = shared(() => open({ settings }));
  const me = (cookie: string, headers: Record<string, string> = sameOrigin) =>
    app.ask('GET', '/me', { cookie, headers });

  test('no script sees the session cookie: it is HttpOnly, and the response holds only the profile', async () => {
    const email = newAddress();
    const { token } = await mailTo(app, email);
    const ask = { json: { token }, headers: sameOrigin };
    const { body, text, headers } = await app.ask('POST', '/magic_link/verify?session=cookie', ask);
    expect(Object.keys(body)).toEqual(['user']);
    expect(body.user).toMatchObject({ email, email_verified: true });
    expect(text).not.toMatch(/lk_[a-z]{2}_/);
    const [pair, ...attributes] = headers.getSetCookie()[0]!.split('; ');
    expect(pair).toMatch(/^latchkey_session=lk_bs_[\w-]+$/);
    expect(attributes.toSorted()).toEqual(['HttpOnly', `Max-Age=${30 * day}`, 'Path=/', 'SameSite=Lax']);
    expect(outcome(await me(pair!))).toBe('200');
  });

  test('the code from a mail starts a browser session as its link does', async () => {
    const { request, code } = await mailTo(app, newAddress());
    const ask = { json: { request, code }, headers: sameOrigin };
    const answer = await app.ask('POST', '/magic_link/verify?session=cookie', ask);
    expect(Object.keys(answer.body)).toEqual(['user']);
    expect(outcome(await me(answer.headers.get('Set-Cookie')!.split(';')[0]!))).toBe('200');
  });

  test('a bearer token in the same request overrides the session cookie, valid or not', async () => {
    const [email, other] = [newAddress(), newAddress()];
    const cookie = await cookieByMail(app, email);
    const { access_token: token } = await app.login(other);
    expect((await app.ask('GET', '/me', { cookie, token, headers: sameOrigin })).body.email).toBe(other);
    const fromElsewhere = { Origin: 'https://evil.example.com', 'Sec-Fetch-Site': 'cross-site' };
    expect((await app.ask('GET', '/me', { cookie, token, headers: fromElsewhere })).body.email).toBe(other);
    const bad = await app.ask('GET', '/me', { cookie, token: 'garbage', headers: sameOrigin });
    expect(outcome(bad)).toBe('401 invalid_token');

    const logout = await app.ask('DELETE', '/logout', { cookie, token, headers: sameOrigin });
    expect(outcome(logout)).toBe('204');
    expect(logout.headers.get('Set-Cookie')).toBeNull();
    expect((await me(cookie)).body.email).toBe(email);
    expect(outcome(await app.ask('GET', '/me', { token }))).toBe('401 invalid_token');
  });

  test("signing in again ends the browser's previous session of the same user and no other", async () => {
    const email = newAddress();
    const [previous, elsewhere] = [await cookieByMail(app, email), await cookieByMail(app, email)];
    const { access_token: token } = await app.login(email);
    const next = await cookieByMail(app, email, previous);
    expect(outcome(await me(previous))).toBe('401 invalid_token');
    expect([outcome(await me(next)), outcome(await me(elsewhere))]).toEqual(['200', '200']);
    expect(outcome(await app.ask('GET', '/me', { token }))).toBe('200');
  });

  test('signing in as another user in the same browser leaves the previous session active', async () => {
    const previous = await cookieByMail(app, newAddress());
    await cookieByMail(app, newAddress(), previous);
    expect(outcome(await me(previous))).toBe('200');
  });

  test('a sign-in for tokens or one that fails does not replace the browser session', async () => {
    const email = newAddress();
    const cookie = await cookieByMail(app, email);
    const { token } = await mailTo(app, email);
    await app.ask('POST', '/magic_link/verify', { json: { token }, cookie, headers: sameOrigin });
    const again = { json: { token }, cookie, headers: sameOrigin };
    const failed = await app.ask('POST', '/magic_link/verify?session=cookie', again);
    expect(outcome(failed)).toBe('400 invalid_grant');
    expect(failed.headers.get('Set-Cookie')).toBeNull();
    expect(outcome(await me(cookie))).toBe('200');
  });

  test.each([
    ['POST', '/revoke'],
    ['DELETE', '/logout'],
    ['POST', '/revoke?scope=session'],
    ['DELETE', '/logout?scope=session'],
  ])('%s %s clears the session cookie', async (method, path) => {
    const cookie = await cookieByMail(app, newAddress());
    const refused = await app.ask(method, path.replace(/\?.*|$/, '?scope=all'), {
      cookie,
      headers: sameOrigin,
    });
    expect([outcome(refused), refused.headers.get('Set-Cookie')]).toEqual(['400 invalid_request', null]);
    const answer = await app.ask(method, path, { cookie, headers: sameOrigin });
    expect(answer.status).toBe(204);
    expect(answer.headers.get('Set-Cookie')).toMatch(
      /^latchkey_session=; Path=\/; Max-Age=0; HttpOnly; SameSite=Lax$/,
    );
    expect(outcome(await me(cookie))).toBe('401 invalid_token');
  });

  test('revoking the own session by id clears the cookie; revoking another one does not', async () => {
    const email = newAddress();
    const [cookie, other] = [await cookieByMail(app, email), await cookieByMail(app, email)];
    const list = await app.ask('GET', '/sessions', { cookie, headers: sameOrigin });
    const [own, otherId] = [true, false].map(
      (current) => list.body.sessions.find((session: { current: boolean }) => session.current === current).id,
    );
    const ask = { cookie, headers: sameOrigin };
    expect((await app.ask('DELETE', `/sessions/${otherId}`, ask)).headers.get('Set-Cookie')).toBeNull();
    expect(outcome(await me(other))).toBe('401 invalid_token');
    expect((await app.ask('DELETE', `/sessions/${own}`, ask)).headers.get('Set-Cookie')).toContain(
      'Max-Age=0',
    );
    expect(outcome(await me(cookie))).toBe('401 invalid_token');
  });

  test('each use of a cookie extends its session by 30 days and sets the cookie again', async () => {
    const cookie = await cookieByMail(app, newAddress());
    expect((await me(cookie)).headers.get('Set-Cookie')).toBeNull();
    for (let i = 0; i < 3; i++) {
      app.pass(29 * day);
      const used = await me(cookie);
      expect(outcome(used)).toBe('200');
      expect(used.headers.get('Set-Cookie')).toContain(`Max-Age=${30 * day}`);
      // The response does not wait for the use to be recorded.
      await until(async () => !(await me(cookie)).headers.has('Set-Cookie'), 'a response without a cookie');
    }
    app.pass(30 * day);
    expect(outcome(await me(cookie))).toBe('401 invalid_token');
  });

  test('each use of a cookie extends its session even with a short idle timeout', async () => {
    const short = await open({ settings: { ...settings, LATCHKEY_REFRESH_IDLE_TTL: '60' } });
    const cookie = await cookieByMail(short, newAddress());
    const use = () => short.ask('GET', '/me', { cookie, headers: sameOrigin });
    for (let i = 0; i < 3; i++) {
      short.pass(40);
      expect(outcome(await use())).toBe('200');
      await until(async () => !(await use()).headers.has('Set-Cookie'), 'a response without a cookie');
    }
    short.pass(60);
    expect(outcome(await use())).toBe('401 invalid_token');
  });

  test('a browser session ends 180 days after the sign-in even if it is in use', async () => {
    const cookie = await cookieByMail(app, newAddress());
    for (let days = 20; days < 180; days += 20) {
      app.pass(20 * day);
      expect(outcome(await me(cookie))).toBe('200');
      await until(async () => !(await me(cookie)).headers.has('Set-Cookie'), 'a response without a cookie');
    }
    app.pass(20 * day);
    expect(outcome(await me(cookie))).toBe('401 invalid_token');
  });

  test('a session cookie that is duplicate, empty or malformed does not authenticate', async () => {
    const cookie = await cookieByMail(app, newAddress());
    const bad = [`${cookie}; ${cookie}`, 'latchkey_session=', 'latchkey_session=garbage', 'other=1'];
    for (const invalid of bad) expect(outcome(await me(invalid))).toBe('401 invalid_token');
    expect(outcome(await me(`a=1; ${cookie}; b=2`))).toBe('200');
  });
});

describe('the origin of a request with a cookie', () => {
  const app = shared(() => openApp('sqlite', { settings }));
  const me = (cookie: string, headers: Record<string, string> = sameOrigin) =>
    app.ask('GET', '/me', { cookie, headers });

  const rules: [string, Record<string, string>, boolean][] = [
    ['Sec-Fetch-Site: same-origin', sameOrigin, true],
    ["the service's own Origin", { Origin: 'http://localhost:8787' }, true],
    ['an allowed Origin', { Origin: allowed }, true],
    ['an allowed Origin on another site', { Origin: allowed, 'Sec-Fetch-Site': 'cross-site' }, true],
    ['neither header', {}, false],
    ["neither header but that of the service's pages", { 'Latchkey-Page': '1' }, true],
    ['neither header and another value in it', { 'Latchkey-Page': 'true' }, false],
    ['another Origin', { Origin: 'https://evil.example.com' }, false],
    [
      "an Origin that only starts with the service's own",
      { Origin: 'http://localhost:8787.evil.example.com' },
      false,
    ],
    ["the service's host on another port", { Origin: 'http://localhost:8788' }, false],
    ["the service's host with another scheme", { Origin: 'https://localhost:8787' }, false],
    ['a null Origin', { Origin: 'null' }, false],
    ['Sec-Fetch-Site: same-site', { 'Sec-Fetch-Site': 'same-site' }, false],
    ['Sec-Fetch-Site: cross-site', { 'Sec-Fetch-Site': 'cross-site' }, false],
    ['Sec-Fetch-Site: none', { 'Sec-Fetch-Site': 'none' }, false],
    ['another Origin and a forged Latchkey-Page', { Origin: 'null', 'Latchkey-Page': '1' }, false],
    [
      'Sec-Fetch-Site: same-site and a forged Latchkey-Page',
      { 'Sec-Fetch-Site': 'same-site', 'Latchkey-Page': '1' },
      false,
    ],
  ];
  test.each(rules)(
    'with %s, a session cookie counts only in requests from allowed origins',
    async (_, headers, isAllowed) => {
      const cookie = await cookieByMail(app, newAddress());
      expect(outcome(await me(cookie, headers))).toBe(isAllowed ? '200' : '403 origin_not_allowed');
      const end = await app.ask('DELETE', '/logout?scope=session', { cookie, headers });
      expect(outcome(end)).toBe(isAllowed ? '204' : '403 origin_not_allowed');
      expect(outcome(await me(cookie))).toBe(isAllowed ? '401 invalid_token' : '200');
    },
  );

  test.each(rules)(
    'with %s, a browser session starts only in requests from allowed origins',
    async (_, headers, isAllowed) => {
      const { token } = await mailTo(app, newAddress());
      const answer = await app.ask('POST', '/magic_link/verify?session=cookie', { json: { token }, headers });
      expect(outcome(answer)).toBe(isAllowed ? '200' : '403 origin_not_allowed');
      expect(answer.headers.has('Set-Cookie')).toBe(isAllowed);
      const again = await app.ask('POST', '/magic_link/verify', { json: { token } });
      expect(outcome(again)).toBe(isAllowed ? '400 invalid_grant' : '200');
    },
  );
});

test('on HTTPS, the session cookie is Secure and bound to the host', async () => {
  const app = await openApp('sqlite', {
    settings: { ...settings, LATCHKEY_BASE_URL: 'https://auth.example.com' },
  });
  const { token } = await mailTo(app, newAddress());
  const headers = { Origin: 'https://auth.example.com' };
  const answer = await app.ask('POST', '/magic_link/verify?session=cookie', { json: { token }, headers });
  const [pair, ...attributes] = answer.headers.getSetCookie()[0]!.split('; ');
  expect(pair).toMatch(/^__Host-latchkey_session=lk_bs_/);
  expect(attributes.toSorted()).toEqual([
    'HttpOnly',
    `Max-Age=${30 * day}`,
    'Path=/',
    'SameSite=Lax',
    'Secure',
  ]);
  expect(outcome(await app.ask('GET', '/me', { cookie: pair!, headers }))).toBe('200');
  const unbound = pair!.replace('__Host-', '');
  expect(outcome(await app.ask('GET', '/me', { cookie: unbound, headers }))).toBe('401 invalid_token');
  const logout = await app.ask('DELETE', '/logout', { cookie: pair!, headers });
  expect(logout.headers.get('Set-Cookie')).toBe(
    '__Host-latchkey_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax; Secure',
  );
});
