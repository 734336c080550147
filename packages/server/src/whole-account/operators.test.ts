// What a service with the right `operate` sees and may do, and that it can do nothing else, on both databases.

import { expect, test } from 'bun:test';
import { addPasskey, newAuthenticator } from '../../../../tests/support/account.ts';
import { type Answer, onBothDatabases, type TestApp, type Tokens } from '../../../../tests/support/app.ts';
import { createdKey } from '../../../../tests/support/keys.ts';
import { declareService } from '../../../../tests/support/services.ts';
import { fresh } from '../../../../tests/support/shared.ts';

type Ask = (method: string, path: string, json?: object) => Promise<Answer>;

async function operatorOf(t: TestApp): Promise<{ ask: Ask; id: string; authorization: string }> {
  const authorization = await t.serviceAuthorization('operate');
  const id = atob(authorization.slice('Basic '.length)).split(':')[0]!;
  const headers = { Authorization: authorization };
  return {
    id,
    authorization,
    ask: (method, path, json) => t.ask(method, path, { headers, ...(json ? { json } : {}) }),
  };
}

const idOf = async (t: TestApp, { access_token: token }: Tokens): Promise<string> =>
  (await t.ask('GET', '/me', { token })).body.id;

const isGood = async (t: TestApp, { access_token: token }: Tokens): Promise<boolean> =>
  (await t.ask('GET', '/me', { token })).status === 200;

async function readFeed(t: TestApp, authorization: string): Promise<string[]> {
  const headers = { Authorization: authorization };
  const { body } = await t.ask('POST', '/feed', { headers, json: { returnImmediately: true } });
  return Object.values(body.sets as Record<string, string>).map(
    (set) =>
      Object.keys(JSON.parse(Buffer.from(set.split('.')[1]!, 'base64url').toString()).events)[0]!
        .split('/')
        .at(-1)!,
  );
}

onBothDatabases('operators', (open) => {
  const t = fresh(open);

  test('each act takes effect at once, and is seen in the log of the user and in the feed with who did it', async () => {
    const feed = await t.serviceAuthorization('feed');
    await readFeed(t, feed);
    const { ask, id: by } = await operatorOf(t);
    const ada = await t.login();
    const [phone, laptop] = [await t.deviceLogin(ada), await t.deviceLogin(ada)];
    const user = await idOf(t, ada);
    const listed = await ask('GET', `/users/${user}/sessions`);
    expect(listed.body).toEqual({
      sessions: expect.arrayContaining([
        expect.objectContaining({ kind: 'browser' }),
        expect.objectContaining({ kind: 'device' }),
      ]),
      next_cursor: null,
    });
    expect(JSON.stringify(listed.body)).not.toContain('current');

    const [newest] = listed.body.sessions;
    expect((await ask('DELETE', `/users/${user}/sessions/${newest.id}`)).status).toBe(204);
    expect(await Promise.all([ada, phone, laptop].map((one) => isGood(t, one)))).toContain(false);
    expect((await ask('DELETE', `/users/${user}/sessions/${newest.id}`)).status).toBe(404);
    expect((await ask('DELETE', `/users/${user}/sessions`)).status).toBe(204);
    for (const one of [ada, phone, laptop]) expect(await isGood(t, one)).toBe(false);

    const again = await t.login();
    for (const act of ['disable', 'disable']) {
      expect((await ask('POST', `/users/${user}/${act}`)).status).toBe(204);
      expect(await isGood(t, again)).toBe(false);
    }
    expect((await ask('GET', `/users/${user}`)).body.disabled).toBe(true);
    for (const act of ['enable', 'enable'])
      expect((await ask('POST', `/users/${user}/${act}`)).status).toBe(204);

    const log = (await ask('GET', `/users/${user}/events?limit=6`)).body.events;
    const acts = log.filter(({ detail }: { detail: Record<string, string> }) => detail['by'] === by);
    expect(acts.map(({ type, detail }: { type: string; detail: object }) => [type, detail])).toEqual([
      ['account_enabled', { by }],
      ['account_disabled', { by }],
      ['all_sessions_revoked', { by }],
      ['session_revoked', { reason: 'operator', by }],
    ]);
    const { body: own } = await t.ask('GET', '/events?limit=6', {
      token: (await t.login()).access_token,
    });
    expect(own.events.slice(1, 5)).toEqual(log.slice(0, 4));
    const told = await readFeed(t, feed);
    expect(told.filter((type) => !type.includes('membership'))).toEqual([
      'session-revoked',
      'session-revoked',
      'account-disabled',
      'account-enabled',
    ]);
  });

  test('users are listed and searched by address, a page at a time', async () => {
    const { ask } = await operatorOf(t);
    const emails = ['ada@example.com', 'BOB@example.com', 'carol@example.org', 'eve_100@example.org'];
    for (const email of emails) await t.login(email);
    const list = async (query: string) => {
      const { status, body } = await ask('GET', `/users${query}`);
      return status === 200 ? body.users.map(({ email }: { email: string }) => email) : body.error;
    };
    expect(await list('')).toEqual(emails);
    expect(await list('?search=EXAMPLE.com')).toEqual(emails.slice(0, 2));
    expect(await list('?search=_1')).toEqual(emails.slice(3));
    expect(await list('?search=nobody')).toEqual([]);
    for (const search of ['', '&search=example']) {
      const seen: string[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const { body } = await ask('GET', `/users?limit=1${search}${cursor && `&cursor=${cursor}`}`);
        seen.push(...body.users.map(({ email }: { email: string }) => email));
        cursor = body.next_cursor;
      }
      expect(seen).toEqual(emails);
    }
    const wrong = ['search=', `search=${'x'.repeat(201)}`];
    for (const query of wrong) expect([query, await list(`?${query}`)]).toEqual([query, 'invalid_request']);
  });

  test('the emails to a user are listed with their outcome and without their content, also those to a former address', async () => {
    const { ask } = await operatorOf(t);
    const ada = await t.login();
    const user = await idOf(t, ada);
    await t.deviceLogin(ada);
    await t.ask('POST', '/magic_link', { json: { email: 'ada@example.com' } });
    await t.ask('POST', '/me/email', { token: ada.access_token, json: { email: 'new@example.com' } });
    const emails = async (query = ''): Promise<Record<string, string>[]> =>
      (await ask('GET', `/users/${user}/emails${query}`)).body.emails;
    const summary = async () =>
      (await emails()).map(({ kind, to, outcome }) => `${kind} ${to} ${outcome}`).sort();
    expect(await summary()).toEqual([
      'email_change new@example.com waiting',
      'notice ada@example.com waiting',
      'sign_in ada@example.com sent',
      'sign_in ada@example.com waiting',
    ]);
    const [mail] = await t.mails();
    expect(await summary()).not.toContain('email_change new@example.com waiting');
    for (const one of await emails()) {
      expect(Object.keys(one).sort()).toEqual(['created_at', 'id', 'kind', 'outcome', 'sent_at', 'to']);
    }
    expect(JSON.stringify(await emails())).not.toMatch(/lk_|token/);
    expect(mail).toBeDefined();
    const all = (await emails()).map(({ id }) => id!);
    const paged: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body } = await ask('GET', `/users/${user}/emails?limit=1${cursor && `&cursor=${cursor}`}`);
      paged.push(...body.emails.map(({ id }: { id: string }) => id));
      cursor = body.next_cursor;
    }
    expect(paged).toEqual(all);
    // Sent emails are kept for a week.
    t.pass(6 * 86_400);
    await t.sweep();
    expect(await emails()).toHaveLength(all.length);
    t.pass(2 * 86_400);
    await t.sweep();
    expect((await emails()).filter(({ outcome }) => outcome === 'sent')).toEqual([]);
  });

  test('a report says what an address without an account was sent, and whether it may sign up', async () => {
    const t = await open({ settings: { LATCHKEY_SIGNUP: 'example.com' } });
    const { ask } = await operatorOf(t);
    const report = async (email: string) => (await ask('POST', '/users/report', { email })).body;
    await t.ask('POST', '/magic_link', { json: { email: 'Nobody@example.org' } });
    const none = { user: null, passkeys: [], keys: [], organizations: [] };
    expect(await report('nobody@EXAMPLE.org')).toEqual({
      ...none,
      sign_up_allowed: false,
      emails: [expect.objectContaining({ kind: 'sign_in', to: 'Nobody@example.org', outcome: 'waiting' })],
    });
    expect(await report('nobody@example.com')).toEqual({ ...none, sign_up_allowed: true, emails: [] });
    expect((await ask('POST', '/users/report', { email: 'nobody' })).body.error).toBe('invalid_request');
  });

  test('a report shows the passkeys, keys and organizations of an account', async () => {
    const { ask } = await operatorOf(t);
    const tokens = await t.login();
    await addPasskey(t, tokens, newAuthenticator(t));
    await createdKey(t, tokens);
    expect((await ask('POST', '/users/report', { email: 'ada@example.com' })).body).toMatchObject({
      user: { email: 'ada@example.com', disabled: false },
      sign_up_allowed: true,
      emails: [{ kind: 'notice' }, { kind: 'notice' }, { kind: 'sign_in' }],
      passkeys: [{ name: expect.any(String) }],
      keys: [{ name: 'build' }],
      organizations: [{ role: 'owner', personal: true }],
    });
  });

  test('introspection gives no address for the right alone', async () => {
    const { authorization } = await operatorOf(t);
    const { access_token: token } = await t.login();
    const headers = { Authorization: authorization };
    const { body } = await t.ask('POST', '/introspect', { headers, form: { token } });
    expect(body.active).toBe(true);
    expect(Object.keys(body)).not.toContain('email');
  });

  test('an unknown id, and a session of another user, change and show nothing', async () => {
    const { ask } = await operatorOf(t);
    const ada = await t.login();
    const eve = await t.login('eve@example.com');
    const { body: own } = await t.ask('GET', '/sessions', { token: ada.access_token });
    const session = own.sessions[0].id;
    const acts = [
      ['GET', '/sessions'],
      ['GET', '/events'],
      ['GET', '/emails'],
      ['POST', '/disable'],
      ['POST', '/enable'],
      ['DELETE', '/sessions'],
      ['DELETE', `/sessions/${session}`],
    ] as const;
    for (const [method, path] of acts) {
      for (const nobody of [`usr_${'x'.repeat(22)}`, 'x', '%00']) {
        expect([path, (await ask(method, `/users/${nobody}${path}`)).status]).toEqual([path, 404]);
      }
    }
    const theirs = await ask('DELETE', `/users/${await idOf(t, eve)}/sessions/${session}`);
    expect(theirs.status).toBe(404);
    expect(await isGood(t, ada)).toBe(true);
  });

  test('an operator key is no token, and gets none: with other endpoints it is as other keys are (access.test.ts)', async () => {
    const { ask, id, authorization } = await operatorOf(t);
    await declareService(t.ctx, {
      name: 'Projects',
      resource: 'https://projects.example',
      scopes: [{ name: 'projects.read', sentence: 'Read projects' }],
    });
    const ada = await t.login();
    const user = await idOf(t, ada);
    const secret = atob(authorization.slice('Basic '.length));
    const { body: device } = await t.ask('POST', '/device');
    const headers = { Authorization: authorization };
    const form = (path: string, fields: Record<string, string>) =>
      t.ask('POST', path, { headers, form: fields });
    const exchange = 'urn:ietf:params:oauth:grant-type:token-exchange';
    const accessToken = 'urn:ietf:params:oauth:token-type:access_token';
    const exchanged = (subject_token: string, more: Record<string, string> = {}) =>
      form('/token', { grant_type: exchange, subject_token, subject_token_type: accessToken, ...more });
    const asBearer = (method: string, path: string, token: string, json?: object) =>
      t.ask(method, path, { token, ...(json ? { json } : {}) });

    const attempts: Record<string, () => Promise<Answer>> = {};
    // The key, its secret or its id in place of a token.
    attempts['the key as a bearer'] = () => asBearer('GET', '/me', secret);
    attempts['its secret as a bearer'] = () => asBearer('GET', '/me', secret.split(':')[1]!);
    attempts['its id as a bearer'] = () => asBearer('GET', '/users', id);
    attempts['the id of a user as a bearer'] = () => asBearer('GET', '/me', user);
    attempts['a token of the user for the endpoints of operators'] = () =>
      asBearer('POST', `/users/${user}/disable`, ada.access_token);
    // Tokens.
    attempts['exchange of its own key'] = () => exchanged(secret);
    attempts['exchange of the id of a user'] = () => exchanged(user, { scope: 'profile' });
    attempts['exchange with an actor'] = () =>
      exchanged(ada.access_token, { scope: 'profile', actor_token: secret, actor_token_type: accessToken });
    attempts['a token for the service of another'] = () =>
      form('/token', {
        grant_type: 'client_credentials',
        resource: 'https://projects.example',
        scope: 'projects.read',
      });
    attempts['a refresh token of the user'] = () =>
      form('/token', { grant_type: 'refresh_token', refresh_token: `${ada.refresh_token}x` });
    attempts['a password of the user'] = () =>
      form('/token', { grant_type: 'password', username: 'ada@example.com', password: 'x' });
    attempts['a device code without an approval'] = () =>
      t.ask('POST', '/token', { headers, json: { device_code: device.device_code } });

    const before = await t.ctx.db.read.run('SELECT * FROM users', []);
    for (const [name, attempt] of Object.entries(attempts)) {
      const { status, body } = await attempt();
      expect([name, status >= 400 && status < 500]).toEqual([name, true]);
      expect([name, JSON.stringify(body)]).not.toEqual([name, expect.stringMatching(/lk_(at|rt|ak)_/)]);
    }
    expect(await t.ctx.db.read.run('SELECT * FROM users', [])).toEqual(before);
    const { events } = (await ask('GET', `/users/${user}/events`)).body;
    expect(events.map(({ type }: { type: string }) => type)).toEqual(['login', 'account_created']);
    expect(await isGood(t, ada)).toBe(true);
  });
});
