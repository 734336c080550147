import { expect, test } from 'bun:test';
import {
  addPasskey,
  askForAddress,
  disown,
  isLive,
  mailsTo,
  newAuthenticator,
  outcome,
  passkeyLogin,
  signInByMail,
  subjects,
  tokenIn,
  verifyAddress,
} from '../../../../../tests/support/account.ts';
import { onBothDatabases, type TestApp, type Tokens } from '../../../../../tests/support/app.ts';
import { setDisabled } from '../../identity/account/account.ts';

const ada = 'ada@example.com';
const elsewhere = { peer: '198.51.100.7', headers: { 'User-Agent': 'Thief/1.0' } };

/** Signs in by mail from another network and browser. */
const signInElsewhere = async (app: TestApp): Promise<Tokens> =>
  (await signInByMail(app, ada, elsewhere)).body;

const passkeysOf = async (app: TestApp, { access_token: token }: Tokens): Promise<{ name: string }[]> =>
  (await app.ask('GET', '/passkeys', { token })).body.passkeys;

async function approvedDevice(app: TestApp, { access_token: token }: Tokens): Promise<string> {
  const { user_code, device_code } = (await app.ask('POST', '/device')).body;
  expect(outcome(await app.ask('POST', '/device/approve', { json: { user_code }, token }))).toBe('204');
  return device_code;
}

const poll = (app: TestApp, device_code: string) => app.ask('POST', '/token', { json: { device_code } });

onBothDatabases('disowning', (open) => {
  test('disowning a session ends it and undoes everything it added, and nothing else', async () => {
    const app = await open();
    const own = await app.login(ada);
    const ownDevice = await app.deviceLogin(own);
    await addPasskey(app, own, newAuthenticator(app), 'mine');
    const thief = await signInElsewhere(app);
    const authenticator = newAuthenticator(app);
    expect((await addPasskey(app, thief, authenticator, 'theirs')).status).toBe(201);
    const byPasskey = (await passkeyLogin(app, authenticator)).body as Tokens;
    const second = newAuthenticator(app);
    await addPasskey(app, byPasskey, second, 'theirs too');
    const bySecond = (await passkeyLogin(app, second)).body as Tokens;
    const device = await app.deviceLogin(thief);
    const waiting = await approvedDevice(app, bySecond);
    const pending = await askForAddress(app, bySecond, 'thief@new.example');

    expect(await mailsTo(app, ada, subjects.newBrowser)).toHaveLength(1);
    const { status, body } = await disown(app, ada, subjects.newBrowser);
    expect([status, body]).toEqual([
      200,
      {
        kind: 'new_browser',
        email: null,
        sessions_ended: 3,
        devices_ended: 2,
        device_names: [],
        passkeys_removed: expect.arrayContaining(['theirs', 'theirs too']),
        keys_removed: [],
        approver: null,
      },
    ]);
    for (const login of [thief, byPasskey, bySecond, device]) expect(await isLive(app, login)).toBe(false);
    for (const login of [own, ownDevice]) expect(await isLive(app, login)).toBe(true);
    expect((await passkeysOf(app, own)).map(({ name }) => name)).toEqual(['mine']);
    expect(outcome(await passkeyLogin(app, authenticator))).toBe('400 unknown_credential');
    expect(outcome(await poll(app, waiting))).toBe('400 access_denied');
    expect(outcome(await verifyAddress(app, pending))).toBe('400 invalid_grant');
    const { refresh_token } = thief;
    expect(outcome(await app.ask('POST', '/refresh', { json: { refresh_token } }))).toBe('400 invalid_grant');
    await app.close();
  });

  test('the link of a notice tells what it is about, and telling so uses nothing up', async () => {
    const app = await open();
    await app.login(ada);
    await signInElsewhere(app);
    const token = tokenIn((await mailsTo(app, ada, subjects.newBrowser)).at(0));
    for (const at of [1, 2]) {
      const { status, body } = await app.ask('POST', '/notices/preview', { json: { token } });
      expect([at, status, body]).toEqual([
        at,
        200,
        {
          kind: 'new_browser',
          subject: subjects.newBrowser,
          created_at: expect.stringMatching(/^\d{4}-.*Z$/),
          ip_address: elsewhere.peer,
        },
      ]);
    }
    expect((await disown(app, ada, subjects.newBrowser)).status).toBe(200);
    expect((await app.ask('POST', '/notices/preview', { json: { token } })).status).toBe(200);
    expect(outcome(await app.ask('POST', '/notices/preview', { json: { token: 'lk_nm_x' } }))).toBe(
      '400 invalid_grant',
    );
  });

  test('disowning a session restores the address that it changed, with the link of any of its notices', async () => {
    const app = await open();
    const own = await app.login(ada);
    const thief = await signInElsewhere(app);
    await verifyAddress(app, await askForAddress(app, thief, 'thief@new.example'));
    const { body } = await disown(app, ada, subjects.newBrowser);
    expect(body).toMatchObject({ kind: 'new_browser', email: ada });
    expect(await isLive(app, own)).toBe(false);
    const me = await app.ask('GET', '/me', { token: (await app.login(ada)).access_token });
    expect(me.body.email).toBe(ada);
    expect((await disown(app, ada, subjects.emailChanged)).body).toMatchObject({
      kind: 'email_changed',
      email: null,
      sessions_ended: 0,
    });
    await app.close();
  });

  test('disowning a device ends only the session of that device', async () => {
    const app = await open();
    const own = await app.login(ada);
    const [first, second] = [await app.deviceLogin(own), await app.deviceLogin(own)];
    expect(await mailsTo(app, ada, subjects.newDevice)).toHaveLength(2);
    await disown(app, ada, subjects.newDevice);
    const live = await Promise.all([first, second].map((login) => isLive(app, login)));
    expect(live.sort()).toEqual([false, true]);
    expect(await isLive(app, own)).toBe(true);
    await app.close();
  });

  test('disowning an added passkey removes it and ends its sessions; disowning a removal ends the session that did it', async () => {
    const app = await open();
    const own = await app.login(ada);
    const thief = await signInElsewhere(app);
    const authenticator = newAuthenticator(app);
    const { body: added } = await addPasskey(app, thief, authenticator);
    const byPasskey = (await passkeyLogin(app, authenticator)).body as Tokens;
    expect((await disown(app, ada, subjects.passkeyAdded)).body.kind).toBe('passkey_added');
    expect(await passkeysOf(app, own)).toEqual([]);
    for (const login of [thief, byPasskey]) expect(await isLive(app, login)).toBe(false);

    const mine = (await addPasskey(app, own, newAuthenticator(app))).body;
    const other = await signInElsewhere(app);
    await app.ask('DELETE', `/passkeys/${mine.id}`, { token: other.access_token });
    expect((await disown(app, ada, subjects.passkeyRemoved)).body.kind).toBe('passkey_removed');
    expect(await isLive(app, other)).toBe(false);
    expect(await isLive(app, own)).toBe(true);
    expect(added.id).not.toBe(mine.id);
    await app.close();
  });

  test('disowning a stolen session undoes what it added', async () => {
    const app = await open({ settings: { LATCHKEY_REFRESH_REUSE_LEEWAY: '0' } });
    const own = await app.login(ada);
    const stolen = await signInElsewhere(app);
    await addPasskey(app, stolen, newAuthenticator(app));
    for (let n = 0; n < 2; n++)
      await app.ask('POST', '/refresh', { json: { refresh_token: stolen.refresh_token } });
    expect(await isLive(app, stolen)).toBe(false);
    expect(await mailsTo(app, ada, subjects.theft)).toHaveLength(1);
    expect((await disown(app, ada, subjects.theft)).body.kind).toBe('theft_stopped');
    expect(await passkeysOf(app, own)).toEqual([]);
    await app.close();
  });

  test('disowning undoes everything that the session added, however long before the notice', async () => {
    const app = await open({ settings: { LATCHKEY_RECENT_LOGIN_TTL: '86400' } });
    const own = await app.login(ada);
    await addPasskey(app, own, newAuthenticator(app), 'old');
    app.pass(3601);
    await addPasskey(app, own, newAuthenticator(app), 'new');
    const token = tokenIn((await mailsTo(app, ada, subjects.passkeyAdded)).at(0));
    await app.ask('POST', '/notices/disown', { json: { token } });
    expect(await passkeysOf(app, await app.login(ada))).toEqual([]);
    await app.close();
  });

  test('a link disowns once, then returns the same response and never affects later sessions', async () => {
    const app = await open();
    await app.deviceLogin(await app.login(ada));
    const [notice] = await mailsTo(app, ada, subjects.newDevice);
    const json = { token: tokenIn(notice) };
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => app.ask('POST', '/notices/disown', { json })),
    );
    for (const { status, body } of answers) {
      expect([status, body]).toEqual([200, answers[0]!.body]);
      expect(body).toMatchObject({ kind: 'new_device', email: null, sessions_ended: 0, devices_ended: 1 });
    }
    const later = await app.login(ada);
    const again = await app.ask('POST', '/notices/disown', { json });
    expect([again.status, again.body]).toEqual([200, answers[0]!.body]);
    expect(await mailsTo(app, ada, subjects.undone)).toHaveLength(1);
    expect(await isLive(app, later)).toBe(true);
    const events = await app.ctx.db.read.run("SELECT id FROM events WHERE type = 'session_disowned'", []);
    expect(events).toHaveLength(1);
    await app.close();
  });

  test('a link expires 7 days after its notice, and any other token is refused', async () => {
    const app = await open();
    const device = await app.deviceLogin(await app.login(ada));
    const token = tokenIn((await mailsTo(app, ada, subjects.newDevice)).at(0));
    const use = (text: unknown) => app.ask('POST', '/notices/disown', { json: { token: text } });
    for (const bad of [
      token.slice(0, -1) + (token.endsWith('A') ? 'B' : 'A'),
      'lk_nm_x',
      device.access_token,
      'x',
    ]) {
      expect(outcome(await use(bad))).toBe('400 invalid_grant');
    }
    for (const bad of [undefined, '', 7]) expect(outcome(await use(bad))).toBe('400 invalid_request');
    app.pass(7 * 86_400);
    expect(outcome(await use(token))).toBe('400 invalid_grant');
    await app.close();
  });

  test('a link works for a disabled account but not for a deleted one', async () => {
    const app = await open();
    const own = await app.login(ada);
    await app.deviceLogin(own);
    const token = tokenIn((await mailsTo(app, ada, subjects.newDevice)).at(0));
    const use = () => app.ask('POST', '/notices/disown', { json: { token } });
    await setDisabled(app.ctx, ada, true);
    expect(outcome(await use())).toBe('200');
    await setDisabled(app.ctx, ada, false);
    await app.ask('DELETE', '/me', { token: (await app.login(ada)).access_token });
    expect(outcome(await use())).toBe('400 invalid_grant');
    await app.close();
  });

  test('a disowned session cannot add anything that survives it, even in a race', async () => {
    const app = await open();
    const own = await app.login(ada);
    for (let round = 0; round < 6; round++) {
      const thief = await signInElsewhere(app);
      const authenticator = newAuthenticator(app);
      const { body: options } = await app.ask('POST', '/passkey/register/challenge', {
        token: thief.access_token,
      });
      const { user_code, device_code } = (await app.ask('POST', '/device')).body;
      await addPasskey(app, thief, newAuthenticator(app), 'bait');
      const token = tokenIn((await mailsTo(app, ada, subjects.passkeyAdded)).at(0));
      const { access_token } = thief;
      await Promise.all([
        app.ask('POST', '/passkey/register', { token: access_token, json: authenticator.create(options) }),
        app.ask('POST', '/device/approve', { json: { user_code }, token: access_token }),
        app.ask('POST', '/me/email', { token: access_token, json: { email: `thief${round}@new.example` } }),
        app.ask('POST', '/notices/disown', { json: { token } }),
        poll(app, device_code),
      ]);
      expect(await isLive(app, thief)).toBe(false);
      expect(await passkeysOf(app, own)).toEqual([]);
      app.pass(10);
      const polled = await poll(app, device_code);
      expect(polled.body.access_token).toBeUndefined();
      const { body } = await app.ask('GET', '/sessions', { token: own.access_token });
      expect(body.sessions).toHaveLength(1);
      const [link] = await mailsTo(app, `thief${round}@new.example`, subjects.confirmAddress);
      if (link) expect(outcome(await verifyAddress(app, tokenIn(link)))).toBe('400 invalid_grant');
    }
    await app.close();
  });
});
