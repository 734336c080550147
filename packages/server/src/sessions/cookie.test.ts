import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { type Answer, onBothDatabases, openApp, type TestApp } from '../../../../tests/support/app.ts';

setDefaultTimeout(30_000);

const day = 86_400;
const allowed = 'https://dashboard.example.com';
const settings = { LATCHKEY_RATE_LIMITS: 'off', LATCHKEY_ALLOWED_ORIGINS: allowed };
const sameOrigin = { 'Sec-Fetch-Site': 'same-origin' };
let people = 0;
const someone = () => `person-${people++}@example.com`;
const outcome = ({ status, body }: Answer) => (body?.error ? `${status} ${body.error}` : String(status));

async function mailTo(app: TestApp, email: string) {
  const { request } = (await app.ask('POST', '/magic_link', { json: { email } })).body;
  return { request, ...(await app.mails()).find(({ to }) => to === email)! };
}

/** Logs in as the dashboard does and gives what the browser keeps: `name=value`. */
async function browserLogin(app: TestApp, email: string, former?: string): Promise<string> {
  const { token } = await mailTo(app, email);
  const ask = { json: { token }, headers: sameOrigin, ...(former ? { cookie: former } : {}) };
  const answer = await app.ask('POST', '/magic_link/verify?session=cookie', ask);
  expect(answer.status).toBe(200);
  return answer.headers.get('Set-Cookie')!.split(';')[0]!;
}

onBothDatabases('a browser session', (open) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await open({ settings });
  });
  afterAll(() => app.close());
  const me = (cookie: string, headers: Record<string, string> = sameOrigin) =>
    app.ask('GET', '/me', { cookie, headers });

  test('shows its credential to no script: the answer holds the profile, the cookie is HttpOnly', async () => {
    const email = someone();
    const { token } = await mailTo(app, email);
    const ask = { json: { token }, headers: sameOrigin };
    const { body, text, headers } = await app.ask('POST', '/magic_link/verify?session=cookie', ask);
    expect(Object.keys(body)).toEqual(['user']);
    expect(body.user).toMatchObject({ email, email_verified: true });
    expect(text).not.toMatch(/lk_/);
    const [pair, ...attributes] = headers.getSetCookie()[0]!.split('; ');
    expect(pair).toMatch(/^latchkey_session=lk_bs_[\w-]+$/);
    expect(attributes.toSorted()).toEqual(['HttpOnly', `Max-Age=${30 * day}`, 'Path=/', 'SameSite=Lax']);
    expect(outcome(await me(pair!))).toBe('200');
  });

  test('is made by the code as well as by the link', async () => {
    const { request, code } = await mailTo(app, someone());
    const ask = { json: { request, code }, headers: sameOrigin };
    const answer = await app.ask('POST', '/magic_link/verify?session=cookie', ask);
    expect(Object.keys(answer.body)).toEqual(['user']);
    expect(outcome(await me(answer.headers.get('Set-Cookie')!.split(';')[0]!))).toBe('200');
  });

  const rules: [string, Record<string, string>, boolean][] = [
    ['Sec-Fetch-Site: same-origin', sameOrigin, true],
    ['the own Origin', { Origin: 'http://localhost:8787' }, true],
    ['an allowed Origin', { Origin: allowed }, true],
    ['an allowed Origin on another site', { Origin: allowed, 'Sec-Fetch-Site': 'cross-site' }, true],
    ['neither header', {}, false],
    ['another Origin', { Origin: 'https://evil.example.com' }, false],
    ['an Origin that only begins like the own', { Origin: 'http://localhost:8787.evil.example.com' }, false],
    ['the own host on another port', { Origin: 'http://localhost:8788' }, false],
    ['the own host on another scheme', { Origin: 'https://localhost:8787' }, false],
    ['a null Origin', { Origin: 'null' }, false],
    ['Sec-Fetch-Site: same-site', { 'Sec-Fetch-Site': 'same-site' }, false],
    ['Sec-Fetch-Site: cross-site', { 'Sec-Fetch-Site': 'cross-site' }, false],
    ['Sec-Fetch-Site: none', { 'Sec-Fetch-Site': 'none' }, false],
  ];
  test.each(rules)('with %s counts only if the request is of the own pages', async (_, headers, counts) => {
    const cookie = await browserLogin(app, someone());
    expect(outcome(await me(cookie, headers))).toBe(counts ? '200' : '403 origin_not_allowed');
    const end = await app.ask('DELETE', '/logout?scope=session', { cookie, headers });
    expect(outcome(end)).toBe(counts ? '204' : '403 origin_not_allowed');
    expect(outcome(await me(cookie))).toBe(counts ? '401 invalid_token' : '200');
  });

  test.each(rules)('with %s begins only if the request is of the own pages', async (_, headers, counts) => {
    const { token } = await mailTo(app, someone());
    const login = await app.ask('POST', '/magic_link/verify?session=cookie', { json: { token }, headers });
    expect(outcome(login)).toBe(counts ? '200' : '403 origin_not_allowed');
    expect(login.headers.has('Set-Cookie')).toBe(counts);
    const again = await app.ask('POST', '/magic_link/verify', { json: { token } });
    expect(outcome(again)).toBe(counts ? '400 invalid_grant' : '200');
  });

  test('yields to a bearer that comes with it, good or bad', async () => {
    const [email, other] = [someone(), someone()];
    const cookie = await browserLogin(app, email);
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

  test('ends the browser’s former session of the same user, and nothing else', async () => {
    const email = someone();
    const [former, elsewhere] = [await browserLogin(app, email), await browserLogin(app, email)];
    const { access_token: token } = await app.login(email);
    const next = await browserLogin(app, email, former);
    expect(outcome(await me(former))).toBe('401 invalid_token');
    expect([outcome(await me(next)), outcome(await me(elsewhere))]).toEqual(['200', '200']);
    expect(outcome(await app.ask('GET', '/me', { token }))).toBe('200');
  });

  test('of another user in the same browser lives on', async () => {
    const former = await browserLogin(app, someone());
    await browserLogin(app, someone(), former);
    expect(outcome(await me(former))).toBe('200');
  });

  test('is not replaced by a login that asks for tokens, nor by one that fails', async () => {
    const email = someone();
    const cookie = await browserLogin(app, email);
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
  ])('is taken out of the browser by %s %s', async (method, path) => {
    const cookie = await browserLogin(app, someone());
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

  test('is taken out of the browser when it ends itself, not when it ends another', async () => {
    const email = someone();
    const [cookie, other] = [await browserLogin(app, email), await browserLogin(app, email)];
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

  test('lives 30 days from its last use and is set again as it moves on', async () => {
    const cookie = await browserLogin(app, someone());
    expect((await me(cookie)).headers.get('Set-Cookie')).toBeNull();
    for (let i = 0; i < 3; i++) {
      app.pass(29 * day);
      const used = await me(cookie);
      expect(outcome(used)).toBe('200');
      expect(used.headers.get('Set-Cookie')).toContain(`Max-Age=${30 * day}`);
      // The use is noted beside the answer, not before it.
      while ((await me(cookie)).headers.has('Set-Cookie')) await Bun.sleep(1);
    }
    app.pass(30 * day);
    expect(outcome(await me(cookie))).toBe('401 invalid_token');
  });

  test('lives on from each use however short its idle life is', async () => {
    const short = await open({ settings: { ...settings, LATCHKEY_REFRESH_IDLE_TTL: '60' } });
    const cookie = await browserLogin(short, someone());
    const use = () => short.ask('GET', '/me', { cookie, headers: sameOrigin });
    for (let i = 0; i < 3; i++) {
      short.pass(40);
      expect(outcome(await use())).toBe('200');
      while ((await use()).headers.has('Set-Cookie')) await Bun.sleep(1);
    }
    short.pass(60);
    expect(outcome(await use())).toBe('401 invalid_token');
    await short.close();
  });

  test('ends 180 days after the login, however busy', async () => {
    const cookie = await browserLogin(app, someone());
    for (let days = 20; days < 180; days += 20) {
      app.pass(20 * day);
      expect(outcome(await me(cookie))).toBe('200');
      while ((await me(cookie)).headers.has('Set-Cookie')) await Bun.sleep(1);
    }
    app.pass(20 * day);
    expect(outcome(await me(cookie))).toBe('401 invalid_token');
  });

  test('that is doubled, empty or garbage counts for nothing', async () => {
    const cookie = await browserLogin(app, someone());
    const bad = [`${cookie}; ${cookie}`, 'latchkey_session=', 'latchkey_session=garbage', 'other=1'];
    for (const one of bad) expect(outcome(await me(one))).toBe('401 invalid_token');
    expect(outcome(await me(`a=1; ${cookie}; b=2`))).toBe('200');
  });
});

test('on https the cookie is Secure and bound to this host', async () => {
  const app = await openApp('sqlite', {
    settings: { ...settings, LATCHKEY_BASE_URL: 'https://auth.example.com' },
  });
  const { token } = await mailTo(app, someone());
  const headers = { Origin: 'https://auth.example.com' };
  const login = await app.ask('POST', '/magic_link/verify?session=cookie', { json: { token }, headers });
  const [pair, ...attributes] = login.headers.getSetCookie()[0]!.split('; ');
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
  await app.close();
});
