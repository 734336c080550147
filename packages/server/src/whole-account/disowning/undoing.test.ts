// Everything a thief can leave behind is undone, and everything the owner added is kept.

import { expect, test } from 'bun:test';
import {
  addPasskey,
  askForAddress,
  disown,
  isLive,
  linkTokenFor,
  mailsTo,
  newAuthenticator,
  outcome,
  passkeyLogin,
  requirePasskeyRefused,
  sessionCookieIn,
  signInByMail,
  subjects,
  throughPasskey,
  tokenIn,
  verifyAddress,
} from '../../../../../tests/support/account.ts';
import { onBothDatabases, type TestApp, type Tokens } from '../../../../../tests/support/app.ts';
import type { Authenticator } from '../../../../../tests/support/authenticator.ts';
import { lockAccount } from '../../identity/account/account.ts';
import { startSession } from '../../sessions/starting.ts';

const ada = 'ada@example.com';
const evil = 'thief@new.example';
const elsewhere = { peer: '198.51.100.7', headers: { 'User-Agent': 'Thief/1.0' } };

/** Signs in by mail from another network and browser. */
const signInElsewhere = async (app: TestApp, email = ada): Promise<Tokens> =>
  (await signInByMail(app, email, elsewhere)).body;

const passkeysOf = async (
  app: TestApp,
  { access_token: token }: Tokens,
): Promise<{ id: string; name: string }[]> => (await app.ask('GET', '/passkeys', { token })).body.passkeys;

const newestToken = async (app: TestApp, to: string, subject: string) =>
  tokenIn((await mailsTo(app, to, subject)).at(0));

const disownBy = (app: TestApp, token: string, more: object = {}) =>
  app.ask('POST', '/notices/disown', { json: { token, ...more } });

onBothDatabases('undoing what a disowned session added', (open) => {
  test('a passkey added by a session at the address that the thief set stops working', async () => {
    const app = await open();
    const own = await app.login(ada);
    await addPasskey(app, own, newAuthenticator(app), 'mine');
    const thief = await signInElsewhere(app);
    await verifyAddress(app, await askForAddress(app, thief, evil));
    const atNew = await signInElsewhere(app, evil);
    const { authenticator, login } = await throughPasskey(app, atNew, 'theirs');
    const { body } = await disown(app, ada, subjects.newBrowser);
    expect(body).toMatchObject({ email: ada, sessions_ended: 4, passkeys_removed: ['theirs'] });
    for (const ended of [own, thief, atNew, login]) expect(await isLive(app, ended)).toBe(false);
    await requirePasskeyRefused(app, authenticator);
    expect((await passkeysOf(app, await app.login(ada))).map(({ name }) => name)).toEqual(['mine']);
    await app.close();
  });

  test('two changes of address, each by a session at the previous one, are undone with everything that came from them', async () => {
    const app = await open();
    await app.login(ada);
    const thief = await signInElsewhere(app);
    await verifyAddress(app, await askForAddress(app, thief, 'first@new.example'));
    const second = await signInElsewhere(app, 'first@new.example');
    app.pass(1);
    await verifyAddress(app, await askForAddress(app, second, 'second@new.example'));
    const third = await signInElsewhere(app, 'second@new.example');
    const { authenticator } = await throughPasskey(app, third);
    const pending = await askForAddress(app, third, 'third@new.example');
    await disown(app, ada, subjects.newBrowser);
    await requirePasskeyRefused(app, authenticator);
    expect(outcome(await verifyAddress(app, pending))).toBe('400 invalid_grant');
    const own = await app.login(ada);
    expect((await app.ask('GET', '/me', { token: own.access_token })).body.email).toBe(ada);
    expect(await passkeysOf(app, own)).toEqual([]);
    await app.close();
  });

  test('if the thief changes the address and changes it back, what the owner adds afterwards is kept', async () => {
    const app = await open();
    await app.login(ada);
    const thief = await signInElsewhere(app);
    await verifyAddress(app, await askForAddress(app, thief, evil));
    const atNew = await signInElsewhere(app, evil);
    const theirs = await throughPasskey(app, atNew, 'theirs');
    app.pass(1);
    await verifyAddress(app, await askForAddress(app, atNew, ada));
    const own = await app.login(ada);
    const mine = await throughPasskey(app, own, 'mine');
    const { body } = await disown(app, ada, subjects.newBrowser);
    expect(body).toMatchObject({ email: ada, passkeys_removed: ['theirs'] });
    await requirePasskeyRefused(app, theirs.authenticator);
    const back = await passkeyLogin(app, mine.authenticator);
    expect((await app.ask('GET', '/me', { token: back.body.access_token })).body.email).toBe(ada);
    const removedFrom = (await app.mails()).filter(({ subject }) =>
      subject.startsWith('This address was removed'),
    );
    expect(removedFrom.map(({ to }) => to)).toEqual([evil]);
    await app.close();
  });

  test('a passkey that another session of the thief added since the change is removed, and its notice goes to the owner', async () => {
    const app = await open();
    const own = await app.login(ada);
    const before = newAuthenticator(app);
    await addPasskey(app, own, before, 'from before');
    const first = await signInElsewhere(app);
    const second = (await signInByMail(app, ada, { ...elsewhere, peer: '203.0.113.7' })).body as Tokens;
    await verifyAddress(app, await askForAddress(app, first, evil));
    const sent = await throughPasskey(app, second, 'sent');
    const [atEvil] = await mailsTo(app, evil, subjects.passkeyAdded);
    expect(atEvil?.text).toContain('sent');
    const link = await newestToken(app, ada, subjects.emailChanged);
    const waiting = await throughPasskey(app, second, 'waiting');
    const { body } = await disownBy(app, link);
    expect(body).toMatchObject({ email: ada, sessions_ended: 5, passkeys_removed: ['sent', 'waiting'] });
    for (const { authenticator } of [sent, waiting]) await requirePasskeyRefused(app, authenticator);
    expect((await passkeyLogin(app, before)).status).toBe(200);
    const named = (mails: { text: string }[]) => mails.map(({ text }) => /Passkey: "(.*)"/.exec(text)?.[1]);
    const names = named(await mailsTo(app, ada, subjects.passkeyAdded)).toSorted();
    expect(names).toEqual(['from before', 'sent', 'waiting']);
    const toEvil = `SELECT sent_at FROM outbox WHERE template = 'notice' AND recipient = '${evil}'`;
    const noticesToEvil = await app.ctx.db.read.run<{ sent_at: number | null }>(toEvil, []);
    expect(noticesToEvil.map(({ sent_at }) => sent_at !== null).toSorted()).toEqual([false, true]);
    expect(outcome(await disownBy(app, tokenIn(atEvil)))).toBe('400 invalid_grant');
    const [told] = await mailsTo(app, ada, subjects.undone);
    for (const name of ['sent', 'waiting']) expect(told?.text).toContain(`Passkey removed: "${name}"`);
    await app.close();
  });

  test('when the address returns, the notices of the time in between go to it, and their earlier links stop working', async () => {
    const app = await open();
    const own = await app.login(ada);
    const first = await signInElsewhere(app);
    const second = (await signInByMail(app, ada, { ...elsewhere, peer: '203.0.113.7' })).body as Tokens;
    await verifyAddress(app, await askForAddress(app, first, evil));
    const theirs = await throughPasskey(app, second, 'theirs');
    const atEvil = await newestToken(app, evil, subjects.passkeyAdded);
    app.pass(1);
    await verifyAddress(app, await askForAddress(app, own, ada));
    expect(outcome(await disownBy(app, atEvil))).toBe('400 invalid_grant');
    const { body } = await disown(app, ada, subjects.passkeyAdded);
    expect(body).toMatchObject({ kind: 'passkey_added', email: null, passkeys_removed: ['theirs'] });
    await requirePasskeyRefused(app, theirs.authenticator);
    expect(await isLive(app, own)).toBe(true);
    await app.close();
  });

  test('after a return, disowning a session that had moved the account on keeps it at the owner’s address', async () => {
    const app = await open();
    const own = await app.login(ada);
    const first = await signInElsewhere(app);
    const second = (await signInByMail(app, ada, { ...elsewhere, peer: '203.0.113.7' })).body as Tokens;
    await verifyAddress(app, await askForAddress(app, first, evil));
    app.pass(1);
    await verifyAddress(app, await askForAddress(app, second, 'thief2@new.example'));
    app.pass(1);
    await verifyAddress(app, await askForAddress(app, own, ada));
    const { body } = await disown(app, ada, subjects.newBrowser);
    expect(body).toMatchObject({ kind: 'new_browser', email: ada });
    const back = await app.login(ada);
    expect((await app.ask('GET', '/me', { token: back.access_token })).body.email).toBe(ada);
    await app.close();
  });

  test('disowning a sign-in with a passkey removes the passkey and ends every session that came by it', async () => {
    const app = await open();
    const own = await app.login(ada);
    const kept = newAuthenticator(app);
    await addPasskey(app, own, kept, 'mine');
    const thief = await signInElsewhere(app);
    const theirs = newAuthenticator(app);
    await addPasskey(app, thief, theirs, 'theirs');
    const signIn = async (peer: string) => {
      const { body: options } = await app.ask('POST', '/passkey/login/challenge');
      return app.ask('POST', '/passkey/login', { json: theirs.get(options), ...elsewhere, peer });
    };
    const [there, familiar] = [(await signIn('203.0.113.7')).body, (await signIn('198.51.100.7')).body];
    const { body } = await disown(app, ada, subjects.newBrowser);
    expect(body).toMatchObject({ email: null, sessions_ended: 2, passkeys_removed: ['theirs'] });
    for (const ended of [there, familiar]) expect(await isLive(app, ended)).toBe(false);
    for (const other of [own, thief]) expect(await isLive(app, other)).toBe(true);
    await requirePasskeyRefused(app, theirs);
    expect((await passkeyLogin(app, kept)).status).toBe(200);
    await app.close();
  });

  test('a sign-in link mailed to the thief’s address beforehand does not sign in to the account', async () => {
    const app = await open();
    const own = await app.login(ada);
    const { id } = (await app.ask('GET', '/me', { token: own.access_token })).body;
    const thief = await signInElsewhere(app);
    await verifyAddress(app, await askForAddress(app, thief, evil));
    await app.ask('POST', '/magic_link', { json: { email: evil } });
    await disown(app, ada, subjects.newBrowser);
    const mail = (await app.mails()).find(({ to, token }) => to === evil && token);
    const { body } = await app.ask('POST', '/magic_link/verify', { json: { token: mail?.token } });
    const me = body.access_token && (await app.ask('GET', '/me', { token: body.access_token })).body.id;
    expect(me).not.toBe(id);
    await app.close();
  });

  test('250 sessions with a passkey of the thief all end, and the passkeys they added are removed', async () => {
    const app = await open();
    const own = await app.login(ada);
    const thief = await signInElsewhere(app);
    const { authenticator } = await throughPasskey(app, thief, 'first');
    const sessions: Tokens[] = [];
    for (let n = 0; n < 250; n++) sessions.push((await passkeyLogin(app, authenticator)).body);
    const late = await throughPasskey(app, sessions.at(-1)!, 'late');
    const early = await throughPasskey(app, sessions[0]!, 'early');
    const { body } = await disown(app, ada, subjects.newBrowser);
    expect(body.sessions_ended).toBe(254);
    expect(body.passkeys_removed.sort()).toEqual(['early', 'first', 'late']);
    for (const each of [authenticator, late.authenticator, early.authenticator])
      await requirePasskeyRefused(app, each);
    for (const login of sessions) expect(await isLive(app, login)).toBe(false);
    expect(await isLive(app, own)).toBe(true);
    expect(await passkeysOf(app, own)).toEqual([]);
    await app.close();
  });

  test('passkeys removed along the way do not break the chain of sessions', async () => {
    const app = await open();
    const own = await app.login(ada);
    let thief = await signInElsewhere(app);
    let last: Authenticator | undefined;
    for (let n = 0; n < 4; n++) {
      const { authenticator, id, login } = await throughPasskey(app, thief);
      if (n < 3) {
        const removed = await app.ask('DELETE', `/passkeys/${id}`, { token: login.access_token });
        expect(removed.status).toBe(204);
      }
      thief = login;
      last = authenticator;
    }
    const device = await app.deviceLogin(thief);
    await disown(app, ada, subjects.newBrowser);
    await requirePasskeyRefused(app, last!);
    for (const login of [thief, device]) expect(await isLive(app, login)).toBe(false);
    expect(await isLive(app, own)).toBe(true);
    await app.close();
  });

  test('a session in between that ended long ago does not break the chain of sessions', async () => {
    const app = await open({ settings: { LATCHKEY_REFRESH_REUSE_LEEWAY: '0' } });
    await app.login(ada);
    const thief = await signInElsewhere(app);
    const between = await throughPasskey(app, thief, 'first');
    const last = await throughPasskey(app, between.login, 'second');
    await app.ask('DELETE', `/passkeys/${between.id}`, { token: last.login.access_token });
    const end = (login: Tokens) =>
      app.ask('POST', '/revoke', { token: login.access_token, json: { scope: 'session' } });
    for (const login of [between.login, last.login]) expect((await end(login)).status).toBe(204);
    let refresh_token = thief.refresh_token;
    for (let days = 0; days < 60; days += 20) {
      app.pass(20 * 86_400);
      await app.sweep();
      const refreshed = await app.ask('POST', '/refresh', { json: { refresh_token } });
      expect(refreshed.status).toBe(200);
      if (days < 40) refresh_token = refreshed.body.refresh_token;
    }
    await app.ask('POST', '/refresh', { json: { refresh_token } });
    expect(await mailsTo(app, ada, subjects.theft)).toHaveLength(1);
    expect((await disown(app, ada, subjects.theft)).body.passkeys_removed).toEqual(['second']);
    await requirePasskeyRefused(app, last.authenticator);
    await app.close();
  });

  test('a session that came from another is swept in the end, like every session', async () => {
    const app = await open();
    const own = await app.login(ada);
    await throughPasskey(app, own);
    app.pass(212 * 86_400);
    await app.sweep();
    expect(await app.ctx.db.read.run('SELECT id FROM sessions', [])).toEqual([]);
    await app.close();
  });

  test('the next session in the same browser ends too, and what it added is removed', async () => {
    const app = await open();
    await app.login(ada);
    const authenticator = newAuthenticator(app);
    const inCookie = async (path: string, ask: object) => {
      const answer = await app.ask('POST', `${path}?session=cookie`, {
        ...ask,
        ...elsewhere,
        headers: { ...elsewhere.headers, 'Sec-Fetch-Site': 'same-origin' },
      });
      expect(answer.status).toBe(200);
      return sessionCookieIn(answer);
    };
    const withCookie = (method: string, path: string, cookie: string, json?: unknown) =>
      app.ask(method, path, { cookie, json, headers: { 'Sec-Fetch-Site': 'same-origin' } });
    const linkFor = async () => ({ token: await linkTokenFor(app, ada) });
    const first = await inCookie('/magic_link/verify', { json: await linkFor() });
    const second = await inCookie('/magic_link/verify', { json: await linkFor(), cookie: first });
    const { body: options } = await withCookie('POST', '/passkey/register/challenge', second);
    const added = await withCookie('POST', '/passkey/register', second, authenticator.create(options));
    expect(added.status).toBe(201);
    await disown(app, ada, subjects.newBrowser);
    expect((await withCookie('GET', '/me', second)).status).toBe(401);
    await requirePasskeyRefused(app, authenticator);
    await app.close();
  });

  test('signing in by mail starts a session only while the account still has the proven address', async () => {
    const app = await open();
    const { body: me } = await app.ask('GET', '/me', { token: (await app.login(ada)).access_token });
    const start = (emailKey: string) =>
      app.ctx.db.transaction(async (tx) => {
        await lockAccount(tx, me.id);
        return startSession(app.ctx, tx, {
          userId: me.id,
          kind: 'browser',
          method: 'magic_link',
          emailKey,
          client: { ipAddress: null, userAgent: null },
        });
      });
    expect(await start(evil).catch(({ code }) => code)).toBe('invalid_grant');
    expect((await start(ada)).userId).toBe(me.id);
    await app.close();
  });

  test('a sign-in at the thief’s address that races with disowning does not stay signed in', async () => {
    const app = await open();
    const own = await app.login(ada);
    const { id } = (await app.ask('GET', '/me', { token: own.access_token })).body;
    for (let round = 0; round < 5; round++) {
      const thief = await signInElsewhere(app);
      const address = `thief${round}@new.example`;
      await verifyAddress(app, await askForAddress(app, thief, address));
      await app.ask('POST', '/magic_link', { json: { email: address } });
      const link = (await app.mails()).find(({ to, token }) => to === address && token)?.token;
      const token = await newestToken(app, ada, subjects.emailChanged);
      const [disowned, login] = await Promise.all([
        disownBy(app, token),
        app.ask('POST', '/magic_link/verify', { json: { token: link } }),
      ]);
      expect(disowned.status).toBe(200);
      const me = await app.ask('GET', '/me', { token: login.body.access_token ?? 'none' });
      expect(me.body.id).not.toBe(id);
    }
    await app.close();
  });
});

onBothDatabases('after disowning', (open) => {
  test('a sign-in from the place of a disowned session sends a notice again', async () => {
    const app = await open();
    await app.login(ada);
    const thief = await signInElsewhere(app);
    await app.ask('POST', '/revoke', { token: thief.access_token, json: { scope: 'session' } });
    expect(await mailsTo(app, ada, subjects.newBrowser)).toHaveLength(1);
    await signInElsewhere(app);
    expect(await mailsTo(app, ada, subjects.newBrowser)).toHaveLength(1);
    await disown(app, ada, subjects.newBrowser);
    // The second session from there has not been disowned and would make the place familiar.
    await app.ctx.db.single.run(
      "DELETE FROM sessions WHERE distrusted_as IS NULL AND user_agent = 'Thief/1.0'",
      [],
    );
    await signInElsewhere(app);
    expect(await mailsTo(app, ada, subjects.newBrowser)).toHaveLength(2);
    await app.close();
  });

  test('sessions that ended with a restored address make no place familiar', async () => {
    const app = await open();
    await app.login(ada);
    const thief = await signInElsewhere(app);
    await verifyAddress(app, await askForAddress(app, thief, evil));
    await signInElsewhere(app, evil);
    await disown(app, ada, subjects.newBrowser);
    const before = (await mailsTo(app, ada, subjects.newBrowser)).length;
    await signInElsewhere(app);
    expect((await mailsTo(app, ada, subjects.newBrowser)).length).toBe(before + 1);
    await app.close();
  });

  test('a sign-in from the place of a stolen session sends a notice again', async () => {
    const app = await open({ settings: { LATCHKEY_REFRESH_REUSE_LEEWAY: '0' } });
    await app.login(ada);
    const { refresh_token } = await signInElsewhere(app);
    for (let n = 0; n < 2; n++) await app.ask('POST', '/refresh', { json: { refresh_token } });
    expect(await mailsTo(app, ada, subjects.theft)).toHaveLength(1);
    await signInElsewhere(app);
    expect(await mailsTo(app, ada, subjects.newBrowser)).toHaveLength(2);
    await app.close();
  });

  test('a mail tells the owner what was undone, and quotes every name it did not choose', async () => {
    const app = await open();
    await app.login(ada);
    const thief = await signInElsewhere(app);
    await addPasskey(app, thief, newAuthenticator(app), 'blue key. Open https://evil.example');
    await app.deviceLogin(thief);
    await verifyAddress(app, await askForAddress(app, thief, evil));
    await disown(app, ada, subjects.newBrowser);
    const [mail, ...others] = await mailsTo(app, ada, subjects.undone);
    expect(others).toEqual([]);
    expect(mail?.text).toContain('Browser sessions ended: 2\nDevices signed out: 1\n');
    expect(mail?.text).toContain(`Address restored: ${ada}`);
    expect(mail?.text).toContain('Passkey removed: "blue key');
    expect(mail?.text).not.toContain('https://evil');
    expect(await mailsTo(app, evil, subjects.undone)).toEqual([]);
    await app.close();
  });

  test('the response names at most 20 of the approved devices', async () => {
    const app = await open();
    await app.login(ada);
    const thief = await signInElsewhere(app);
    for (let n = 0; n < 22; n++) {
      const { user_code } = (await app.ask('POST', '/device', { json: { device_name: `box ${n}` } })).body;
      await app.ask('POST', '/device/approve', { json: { user_code }, token: thief.access_token });
    }
    const { body } = await disown(app, ada, subjects.newBrowser);
    expect(body.devices_ended).toBe(22);
    expect(body.device_names).toHaveLength(20);
    expect(body.device_names[0]).toMatch(/^box \d+$/);
    await app.close();
  });
});

onBothDatabases('disowning a device', (open) => {
  test('disowning a device offers its approving session; a second call disowns that as well, once', async () => {
    const app = await open();
    const own = await app.login(ada);
    const thief = await signInElsewhere(app);
    const { authenticator } = await throughPasskey(app, thief, 'theirs');
    const other = await app.deviceLogin(thief);
    const device = await app.deviceLogin(thief);
    const token = await newestToken(app, ada, subjects.newDevice);
    const first = await disownBy(app, token);
    expect(first.body).toMatchObject({ kind: 'new_device', sessions_ended: 0, devices_ended: 1 });
    expect(first.body.approver).toEqual({
      created_at: expect.stringMatching(/Z$/),
      ip_address: '198.51.100.7',
      user_agent: 'Thief/1.0',
      disowned: false,
    });
    expect([await isLive(app, thief), await isLive(app, device)].sort()).toEqual([false, true]);
    expect((await disownBy(app, token, { approver: false })).body).toEqual(first.body);

    const answers = await Promise.all(
      Array.from({ length: 6 }, () => disownBy(app, token, { approver: true })),
    );
    for (const { status, body } of answers) expect([status, body]).toEqual([200, answers[0]!.body]);
    expect(answers[0]!.body).toMatchObject({
      sessions_ended: 2,
      devices_ended: 2,
      passkeys_removed: ['theirs'],
      approver: { disowned: true },
    });
    expect((await disownBy(app, token)).body).toEqual(answers[0]!.body);
    for (const login of [thief, other, device]) expect(await isLive(app, login)).toBe(false);
    await requirePasskeyRefused(app, authenticator);
    expect(await isLive(app, own)).toBe(true);
    expect(await mailsTo(app, ada, subjects.undone)).toHaveLength(2);
    const events = await app.ctx.db.read.run("SELECT id FROM events WHERE type = 'session_disowned'", []);
    expect(events).toHaveLength(2);
    await app.close();
  });

  test('one call with `approver` disowns both the device and the session that approved it', async () => {
    const app = await open();
    const approver = await app.login(ada);
    await app.deviceLogin(approver);
    const token = await newestToken(app, ada, subjects.newDevice);
    const { body } = await disownBy(app, token, { approver: true });
    expect(body).toMatchObject({ sessions_ended: 1, devices_ended: 1, approver: { disowned: true } });
    expect(await isLive(app, approver)).toBe(false);
    await app.close();
  });

  test('no approver is offered if it was disowned already, and `approver` then does nothing', async () => {
    const app = await open();
    const own = await app.login(ada);
    const thief = await signInElsewhere(app);
    await app.deviceLogin(thief);
    const device = await newestToken(app, ada, subjects.newDevice);
    const { body } = await disown(app, ada, subjects.newBrowser);
    expect(body.approver).toBeNull();
    expect((await disownBy(app, device)).body.approver).toBeNull();
    for (const wrong of ['yes', 1, null]) {
      expect(outcome(await disownBy(app, device, { approver: wrong }))).toBe('400 invalid_request');
    }
    expect((await disownBy(app, device, { approver: true })).body.approver).toBeNull();
    expect(await isLive(app, own)).toBe(true);
    await app.close();
  });
});
