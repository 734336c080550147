// Notices beyond the rate limit for an account and kind go into one digest at the end of the window.

import { expect, test } from 'bun:test';
import type { NoticeKind } from '@latchkey/contract/notices';
import { addPasskey, isLive, newAuthenticator, subjects } from '../../../../../tests/support/account.ts';
import { type Mail, onBothDatabases, type TestApp } from '../../../../../tests/support/app.ts';
import { postSignIn, requestOptions } from '../../../../../tests/support/ceremonies.ts';
import { until } from '../../../../../tests/support/until.ts';
import { templates } from '../../app.ts';
import { lockAccount } from '../../identity/account/account.ts';
import { MailWorker } from '../../platform/mail/worker.ts';
import { rateLimitRules } from '../../settings.ts';
import { deleteAccount } from '../../whole-account/personal-data.ts';
import { maxDigestNotices } from './mail.ts';
import { notify } from './notices.ts';
import { closeWindow } from './store.ts';

const ada = 'ada@example.com';
const { quota, windowSeconds } = rateLimitRules.notices;
const digestSubject = 'More new devices signed in to your Latchkey account';

interface Owner {
  readonly userId: string;
  readonly sessionId: string;
}

async function ownerOf(app: TestApp, email = ada): Promise<Owner> {
  const { access_token: token } = await app.login(email);
  const { id: userId } = (await app.ask('GET', '/me', { token })).body;
  const [session] = (await app.ask('GET', '/sessions', { token })).body.sessions;
  return { userId, sessionId: session.id };
}

/** Sends `count` notices about devices with numbered names, each in its own transaction. */
const notifyOf = (app: TestApp, owner: Owner, count: number, kind: NoticeKind = 'new_device', from = 1) =>
  Promise.all(
    Array.from({ length: count }, (_, index) =>
      app.ctx.db.transaction(async (tx) => {
        await lockAccount(tx, owner.userId);
        await notify(app.ctx, tx, {
          ...owner,
          kind,
          client: { ipAddress: '192.0.2.1', userAgent: null },
          deviceName: `device ${from + index}`,
        });
      }),
    ),
  );

/** The subjects of the notices and digests sent so far, each with how often. */
async function sent(app: TestApp): Promise<Record<string, number>> {
  const subjects = (await app.mails()).map(({ subject }) => subject);
  const counts = Map.groupBy(subjects, (subject) => subject);
  return Object.fromEntries([...counts].map(([subject, list]) => [subject, list.length]));
}

const digestsOf = async (app: TestApp, subject = digestSubject): Promise<Mail[]> =>
  (await app.mails()).filter((mail) => mail.subject === subject);

const devicesIn = (mail: Mail | undefined) =>
  [...(mail?.text ?? '').matchAll(/^Device: "device (\d+)"$/gm)].map(([, number]) => Number(number));

const linksIn = (mail: Mail | undefined) =>
  [...(mail?.text ?? '').matchAll(/^http\S+\/not-me#token=(lk_nm_\S+)$/gm)].map(([, token]) => token!);

onBothDatabases('the limit for notices', (open) => {
  test('10 notices of a kind are sent at once, and the rest of the hour in one digest at its end', async () => {
    const app = await open({ settings: { LATCHKEY_RATE_LIMITS: 'on' } });
    const owner = await ownerOf(app);
    await notifyOf(app, owner, quota);
    await notifyOf(app, owner, 3, 'new_device', quota + 1);
    app.pass(windowSeconds - 60);
    await notifyOf(app, owner, 1, 'new_device', quota + 4);
    const { [subjects.newDevice]: single, [digestSubject]: digest } = await sent(app);
    expect([single, digest]).toEqual([quota, undefined]);
    app.pass(61);
    const [first, ...others] = await digestsOf(app);
    expect([first!.to, others]).toEqual([ada, []]);
    expect(devicesIn(first).toSorted()).toEqual([11, 12, 13, 14]);
    expect(devicesIn(first)[0]).toBe(14);
    expect(new Set(linksIn(first)).size).toBe(4);
    expect(await app.ctx.metrics.registry.metrics()).toMatch(/_total\{limit="notices"\} 4\n/);
    await notifyOf(app, owner, quota, 'new_device', 100);
    app.pass(2 * windowSeconds);
    expect(await sent(app)).toMatchObject({ [subjects.newDevice]: 2 * quota, [digestSubject]: 1 });
  });

  test('30 sign-ins with 30 user agents send 10 mails and one digest, and do not delay a sign-in mail', async () => {
    const app = await open();
    const authenticator = newAuthenticator(app);
    await addPasskey(app, await app.login(ada), authenticator);
    for (let n = 0; n < 30; n++) {
      const headers = { 'User-Agent': `Browser ${String.fromCharCode(65 + n)}` };
      const json = authenticator.get(await requestOptions(app));
      expect((await postSignIn(app, json, { headers })).status).toBe(200);
    }
    await app.ask('POST', '/magic_link', { json: { email: ada } });
    const mails = await app.mails();
    expect(mails.filter(({ subject }) => subject === subjects.newBrowser)).toHaveLength(quota);
    expect(mails.filter(({ subject }) => subject.startsWith('Sign in to Latchkey: '))).toHaveLength(2);
    app.pass(windowSeconds + 1);
    const digests = (await app.mails()).filter(({ subject }) => subject.startsWith('More new sign-ins'));
    expect(digests.map((digest) => linksIn(digest).length)).toEqual([20]);
  });

  test('each account and each kind of notice has its own limit, which is configurable', async () => {
    const app = await open({ settings: { LATCHKEY_RATE_LIMITS: 'off, notices=2/60' } });
    const [owner, bob] = [await ownerOf(app), await ownerOf(app, 'bob@example.com')];
    await notifyOf(app, owner, 3);
    await notifyOf(app, owner, 2, 'passkey_added');
    await notifyOf(app, bob, 2);
    expect(await sent(app)).toMatchObject({ [subjects.newDevice]: 4, [subjects.passkeyAdded]: 2 });
    app.pass(61);
    expect(await digestsOf(app)).toHaveLength(1);
  });

  test('parallel notices on two nodes send 10 single mails, and several workers send the digest once', async () => {
    const app = await open();
    const owner = await ownerOf(app);
    const other = await open({ beside: app });
    await Promise.all([
      notifyOf(app, owner, 15, 'new_device', 1),
      notifyOf(other, owner, 15, 'new_device', 16),
    ]);
    expect(await sent(app)).toMatchObject({ [subjects.newDevice]: quota });
    app.pass(windowSeconds + 1);
    const delivered: string[] = [];
    const transport = {
      deliver: async (_id: string, _to: string, { subject }: { subject: string }) => {
        // The other workers get a turn.
        await new Promise(setImmediate);
        delivered.push(subject);
      },
      close: () => undefined,
    };
    const workers = [app, other, app].map((node) => new MailWorker(node.ctx, templates, transport));
    await until(() => delivered.length > 0, 'the digest');
    for (const worker of workers) await worker.stop();
    expect(delivered).toEqual([digestSubject]);
    const [digest] = await digestsOf(app);
    expect(devicesIn(digest)).toHaveLength(20);
  });

  test('each link of a digest undoes everything since its own session', async () => {
    const app = await open({ settings: { LATCHKEY_RATE_LIMITS: 'off, notices=1/60' } });
    const tokens = await app.login(ada);
    const devices = [];
    for (let n = 0; n < 4; n++) devices.push(await app.deviceLogin(tokens));
    app.pass(61);
    const [digest] = await digestsOf(app);
    // Newest first.
    const links = linksIn(digest);
    expect(links).toHaveLength(3);
    expect((await app.ask('POST', '/notices/disown', { json: { token: links[1] } })).status).toBe(200);
    const live = [];
    for (const device of devices) live.push(await isLive(app, device));
    expect(live).toEqual([true, true, false, false]);
  });

  test('a digest lists 50 notices and says how many more there are', async () => {
    const app = await open();
    const owner = await ownerOf(app);
    for (let n = 0; n < 3; n++)
      await notifyOf(app, owner, (quota + maxDigestNotices) / 3, 'new_device', 1 + n * 20);
    await notifyOf(app, owner, 7, 'new_device', 61);
    app.pass(windowSeconds + 1);
    const [digest] = await digestsOf(app);
    expect(linksIn(digest)).toHaveLength(50);
    expect(digest!.text).toContain('7 more notices are only in the security log');
  });

  test('a cause that is rolled back leaves no notice, no digest and no count', async () => {
    const app = await open({ settings: { LATCHKEY_RATE_LIMITS: 'off, notices=1/60' } });
    const owner = await ownerOf(app);
    const failing = app.ctx.db.transaction(async (tx) => {
      await lockAccount(tx, owner.userId);
      for (let n = 0; n < 3; n++)
        await notify(app.ctx, tx, {
          ...owner,
          kind: 'new_device',
          client: { ipAddress: null, userAgent: null },
        });
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    await notifyOf(app, owner, 1);
    app.pass(61);
    expect(await sent(app)).toMatchObject({ [subjects.newDevice]: 1 });
    expect(await digestsOf(app)).toEqual([]);
  });

  test('a notice after its digest was sent is not lost, even if the clock of its node is behind', async () => {
    const app = await open({ settings: { LATCHKEY_RATE_LIMITS: 'off, notices=1/60' } });
    const owner = await ownerOf(app);
    await notifyOf(app, owner, 2);
    const [window] = await app.ctx.db.read.run<{ id: string }>('SELECT id FROM notice_windows', []);
    await closeWindow(app.ctx.db.single, { id: window!.id });
    await notifyOf(app, owner, 1, 'new_device', 3);
    expect(await sent(app)).toMatchObject({ [subjects.newDevice]: 2 });
  });

  test('a waiting digest is deleted with its account, and ended windows are swept', async () => {
    const app = await open({ settings: { LATCHKEY_RATE_LIMITS: 'off, notices=1/60' } });
    const [owner, bob] = [await ownerOf(app), await ownerOf(app, 'bob@example.com')];
    await notifyOf(app, owner, 3);
    await notifyOf(app, bob, 1);
    await app.ctx.db.single.run(
      "UPDATE outbox SET recipient = 'old@example.com' WHERE template = 'notice_digest'",
      [],
    );
    await deleteAccount(app.ctx, ada);
    const left = await app.ctx.db.read.run("SELECT id FROM outbox WHERE template = 'notice_digest'", []);
    expect(left).toEqual([]);
    app.pass(60 + 3600 + 1);
    await app.sweep();
    expect(await app.ctx.db.read.run('SELECT id FROM notice_windows', [])).toEqual([]);
  });
});
