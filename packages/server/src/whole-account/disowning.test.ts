// What random sequences (tests/invariants/properties.test.ts) cannot see: pages, mails, the log, and races.

import { expect, test } from 'bun:test';
import {
  addPasskey,
  askForAddress,
  changeAddress,
  disown,
  isLive,
  mailsTo,
  newAuthenticator,
  outcome,
  signInByMail,
  subjects,
  throughPasskey,
  tokenIn,
} from '#support/account.ts';
import { onBothDatabases, type TestApp, type Tokens } from '#support/app.ts';
import { decideDevice, startDevice } from '#support/devices.ts';
import { createdKey } from '#support/keys.ts';
import { copySession, startedRun } from '#support/runs.ts';
import { loggedEvents } from '#support/security-log.ts';
import { fresh } from '#support/shared.ts';
import { readToken } from '../sessions/tokens.ts';

const ada = 'ada@example.com';
const evil = 'thief@new.example';
const day = 86_400;
const elsewhere = { peer: '198.51.100.7', headers: { 'User-Agent': 'Thief/1.0' } };

/** Signs in by mail from another network and browser. */
const signInElsewhere = async (app: TestApp, email = ada): Promise<Tokens> =>
  (await signInByMail(app, email, elsewhere)).body;

const use = (app: TestApp, token: string, more: object = {}) =>
  app.ask('POST', '/notices/disown', { json: { token, ...more } });

/** The link in the newest mail with this subject. */
const linkIn = async (app: TestApp, to: string, subject: string) =>
  tokenIn((await mailsTo(app, to, subject)).at(0));

onBothDatabases('"this was not me"', (open) => {
  const app = fresh(open);

  test('the response, the mail and the log name what has a name, and count all the rest', async () => {
    const own = await app.login(ada);
    const thief = await signInElsewhere(app);
    await throughPasskey(app, thief, 'blue key. Open https://evil.example');
    for (let n = 0; n < 25; n++)
      await decideDevice(app, 'approve', await startDevice(app, { device_name: 'waits' }), thief);
    await app.deviceLogin(thief);
    await createdKey(app, thief, { name: 'build' });
    await startedRun(app, own.access_token, { scope: 'profile' });
    await askForAddress(app, thief, evil);
    for (let n = 0; n < 2; n++) await app.ask('POST', '/magic_link', { json: { email: ada } });
    const { body } = await disown(app, ada, subjects.newBrowser);
    expect(body).toEqual({
      kind: 'new_browser',
      email: null,
      sessions_ended: 2,
      devices_ended: 26,
      device_names: Array(25).fill('waits'),
      passkeys_removed: ['blue key. Open https://evil.example'],
      keys_removed: ['build'],
      runs_ended: 1,
      links_voided: 3,
      approver: null,
    });
    const again = await disown(app, ada, subjects.newBrowser);
    expect(again.text).toBe(JSON.stringify(body));
    const [mail, ...others] = await mailsTo(app, ada, subjects.undone);
    expect(others).toEqual([]);
    for (const line of [
      'Browser sessions ended: 2',
      'Devices signed out: 26',
      'Device: "waits"',
      'API key removed: "build"',
      'Runs ended: 1',
      'Open links cancelled: 3',
    ])
      expect(mail?.text).toContain(`${line}\n`);
    expect(mail?.text).toContain('Passkey removed: "blue key');
    expect(mail?.text).not.toContain('https://evil');
    const [event] = await loggedEvents(app, own, 'session_disowned');
    expect(event!.detail).toEqual({
      notice: 'new_browser',
      ...{ sessions: '2', devices: '26', passkeys: '1', keys: '1', runs: '1', links: '3' },
      device_names: JSON.stringify(body.device_names),
      passkey_names: JSON.stringify(body.passkeys_removed),
      key_names: '["build"]',
    });
  });

  test('a preview tells what a link is about, and uses nothing up; the link expires 7 days after its notice', async () => {
    await app.login(ada);
    await signInElsewhere(app);
    const token = await linkIn(app, ada, subjects.newBrowser);
    const preview = (text: string) => app.ask('POST', '/notices/preview', { json: { token: text } });
    for (const work of [() => undefined, () => use(app, token)]) {
      await work();
      expect((await preview(token)).body).toEqual({
        kind: 'new_browser',
        subject: subjects.newBrowser,
        created_at: expect.stringMatching(/^\d{4}-.*Z$/),
        ip_address: elsewhere.peer,
      });
    }
    app.pass(7 * day);
    for (const answer of [await preview(token), await use(app, token), await preview('lk_nm_x')])
      expect(outcome(answer)).toBe('400 invalid_grant');
  });

  test('a notice that waits when its cause is undone is never sent, neither alone nor in a digest', async () => {
    const app = await open({ settings: { LATCHKEY_RATE_LIMITS: 'off, notices=2/3600' } });
    await app.login(ada);
    const thief = await signInElsewhere(app);
    const link = await linkIn(app, ada, subjects.newBrowser);
    for (let n = 0; n < 4; n++) await addPasskey(app, thief, newAuthenticator(app));
    await use(app, link);
    app.pass(3_700);
    const sent = (await app.mails()).filter(({ text }) => text.includes('/not-me#'));
    expect(sent.map(({ subject }) => subject)).toEqual([subjects.newBrowser]);
  });

  test('a link about a run undoes everything since it, even after its row is deleted', async () => {
    const app = await open({ settings: { LATCHKEY_REFRESH_REUSE_LEEWAY: '0' } });
    const own = await app.login(ada);
    const by = await app.serviceAuthorization('delegate');
    const { refresh_token } = await startedRun(app, own.access_token, { scope: 'profile', by });
    for (let n = 0; n < 2; n++) {
      const form = { grant_type: 'refresh_token', refresh_token };
      await app.ask('POST', '/token', { form, headers: { Authorization: by } });
    }
    const later = await app.login(ada);
    app.pass(3 * day);
    await app.sweep();
    expect(await app.ctx.db.read.run("SELECT id FROM sessions WHERE kind = 'run'", [])).toEqual([]);
    const { refresh_token: refresh } = later;
    const { body: renewed } = await app.ask('POST', '/refresh', { json: { refresh_token: refresh } });
    expect((await use(app, await linkIn(app, ada, subjects.theft))).body.sessions_ended).toBe(1);
    expect(await isLive(app, renewed)).toBe(false);
  });

  test('all runs that end with it cost one lock of the feed, of which PostgreSQL has a few thousand', async () => {
    const own = await app.login(ada);
    const key = await createdKey(app, own, { name: 'build' });
    await signInElsewhere(app);
    const { access_token } = await startedRun(app, key.key, { scope: 'profile' });
    await copySession(app, readToken(app.ctx, access_token)!.sessionId, 200, {
      path: "replace(s.path, s.id, s.id || '-' || i)",
    });
    // One has been over for more than five minutes: it stays as it is, since there may be hundreds of thousands.
    await copySession(app, readToken(app.ctx, access_token)!.sessionId, 2, {
      id: "'over-' || i",
      idle_expires_at: `${app.ctx.clock() - 1_000} - 300000 * (i - 1)`,
    });
    const link = await linkIn(app, ada, subjects.newBrowser);
    const before = app.statements.length;
    expect((await use(app, link)).body.runs_ended).toBe(201);
    const marks = app.statements.slice(before).filter((text) => text.includes('mark_writer'));
    expect(marks.length).toBeLessThanOrEqual(1);
    const told = await app.ctx.db.read.run("SELECT id FROM feed_events WHERE type = 'session-revoked'", []);
    expect(told).toHaveLength(202);
    const untouched = "SELECT id FROM sessions WHERE kind = 'run' AND revoked_at IS NULL";
    expect(await app.ctx.db.read.run(untouched, [])).toEqual([{ id: 'over-2' }]);
    expect(await isLive(app, { ...own, access_token: key.key })).toBe(true);
  });

  test('a sign-in at the new address that races with restoring the former one does not stay signed in', async () => {
    const own = await app.login(ada);
    const { id } = (await app.ask('GET', '/me', { token: own.access_token })).body;
    for (let round = 0; round < 5; round++) {
      const address = `thief${round}@new.example`;
      await changeAddress(app, await signInElsewhere(app), address);
      const token = await app.linkTokenFor(address);
      const link = await linkIn(app, ada, subjects.emailChanged);
      const [restored, login] = await Promise.all([
        use(app, link),
        app.ask('POST', '/magic_link/verify', { json: { token } }),
      ]);
      expect(restored.body.email).toBe(ada);
      const me = await app.ask('GET', '/me', { token: login.body.access_token ?? 'none' });
      expect(me.body.id).not.toBe(id);
    }
  });
});

onBothDatabases('the address that "this was not me" restores', (open) => {
  const app = fresh(open);

  test('if another account has it, nothing is undone until that one is gone; then each address gets its own mail, and links sent to the other one stop working', async () => {
    await app.login(ada);
    const thief = await signInElsewhere(app);
    await changeAddress(app, thief, evil);
    await addPasskey(app, thief, newAuthenticator(app));
    const link = await linkIn(app, ada, subjects.newBrowser);
    const atEvil = await linkIn(app, evil, subjects.passkeyAdded);
    // As if the former address were free.
    const { read, single } = app.ctx.db;
    const [expires] = await read.run<{ at: number }>('SELECT expires_at AS at FROM email_changes', []);
    await single.run('UPDATE email_changes SET expires_at = 0', []);
    const bob = await app.login(ada);
    await single.run(`UPDATE email_changes SET expires_at = ${expires!.at}`, []);
    expect(outcome(await use(app, link))).toBe('409 conflict');
    expect(await isLive(app, thief)).toBe(true);
    await app.ask('DELETE', '/me', { token: bob.access_token });
    expect((await use(app, link)).body.email).toBe(ada);
    expect(outcome(await use(app, atEvil))).toBe('400 invalid_grant');
    const told = (await app.mails()).filter(({ subject }) => subject.startsWith('This address was removed'));
    expect(told.map(({ to }) => to)).toEqual([evil]);
    const [mail, ...others] = await mailsTo(app, ada, subjects.undone);
    expect([mail?.text, others]).toEqual([expect.stringContaining(`Address restored: ${ada}\n`), []]);
    expect(await mailsTo(app, evil, subjects.undone)).toEqual([]);
  });
});
