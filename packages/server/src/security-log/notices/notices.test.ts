// Notices about what happens to an account: each at once, and beyond a limit in a digest at the end of the window.

import { expect, test } from 'bun:test';
import type { NoticeKind } from '@latchkey/contract/notices';
import {
  addPasskey,
  changeAddress,
  isLive,
  mailsTo,
  newAuthenticator,
  outcome,
  postSignIn,
  requestOptions,
  signInByMail,
  subjects,
  tokenIn,
} from '#support/account.ts';
import { type Ask, type Mail, onBothDatabases, openApp, type TestApp } from '#support/app.ts';
import { decideDevice, pollDevice, startDevice } from '#support/devices.ts';
import { createdKey } from '#support/keys.ts';
import { signedIn } from '#support/security-log.ts';
import { fresh } from '#support/shared.ts';
import { lockAccount } from '../../identity/account/account.ts';
import { noClient } from '../../platform/values/client-address.ts';
import { rateLimitRules } from '../../settings.ts';
import { maxDigestNotices } from './mail.ts';
import { notify } from './notices.ts';
import { closeWindow } from './store.ts';

const ada = 'ada@example.com';

const count = async (app: TestApp, subject: string) => (await mailsTo(app, ada, subject)).length;

onBothDatabases('notices', (open) => {
  test('a browser sign-in sends a notice unless an earlier one came from the same network with the same browser', async () => {
    const app = await open();
    const agent = (text: string) => ({ 'User-Agent': text });
    const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
    const steps: [Ask, number][] = [
      [{ peer: '192.0.2.1', headers: agent(firefox) }, 0],
      [{ peer: '192.0.2.200', headers: agent(firefox.replaceAll('140', '141.2')) }, 0],
      [{ peer: '192.0.3.1', headers: agent(firefox) }, 1],
      [{ peer: '192.0.2.9', headers: agent('Mozilla/5.0 (X11; Linux x86_64) Chrome/150.0') }, 2],
    ];
    for (const [ask, notices] of steps) {
      expect((await signInByMail(app, ada, ask)).status).toBe(200);
      expect([ask, await count(app, subjects.newBrowser)]).toEqual([ask, notices]);
    }
    // Once all sessions have been swept, as the mails about them, no place is familiar.
    app.pass(220 * 86_400);
    await app.sweep();
    await signInByMail(app, ada, steps[0]![0]);
    expect(await count(app, subjects.newBrowser)).toBe(1);
  });

  test('a new device, an added or removed passkey or key, a changed address and a stopped theft each send one notice', async () => {
    const app = await open({ settings: { LATCHKEY_REFRESH_REUSE_LEEWAY: '0' } });
    const tokens = await app.login(ada);
    const { refresh_token } = await app.deviceLogin(tokens);
    const { body: passkey } = await addPasskey(app, tokens, newAuthenticator(app), 'blue key');
    await app.ask('DELETE', `/passkeys/${passkey.id}`, { token: tokens.access_token });
    const { id } = await createdKey(app, tokens, { name: 'night build' });
    await app.ask('DELETE', `/keys/${id}`, { token: tokens.access_token });
    for (let n = 0; n < 4; n++) await app.ask('POST', '/refresh', { json: { refresh_token } });
    await changeAddress(app, tokens, 'ada@new.example');
    const notices = (await app.mails()).filter(({ text }) => text.includes('/not-me#'));
    const { newDevice, passkeyAdded, passkeyRemoved, keyAdded, keyRemoved, theft, emailChanged } = subjects;
    const kinds = [newDevice, passkeyAdded, passkeyRemoved, keyAdded, keyRemoved, theft, emailChanged];
    expect(notices.map(({ subject }) => subject).toReversed()).toEqual(kinds);
    expect(new Set(notices.map(({ to }) => to))).toEqual(new Set([ada]));
    expect(notices[5]?.text).toContain('Passkey: "blue key"');
    for (const { text } of notices.slice(2, 4)) expect(text).toMatch(/"night build"(?!.*lk_ak_)/s);
    expect(notices[0]?.text).toContain('New address: ada@new[.]example');
  });

  test('failed requests and renames send no notice; the link is alone on its line, in text and HTML, and the same in each sending', async () => {
    const app = await open({ settings: { LATCHKEY_BASE_URL: 'https://id.example.com' } });
    const tokens = await app.login(ada);
    const { access_token: token } = tokens;
    const authenticator = newAuthenticator(app);
    const { body: passkey } = await addPasskey(app, tokens, authenticator);
    await addPasskey(app, tokens, newAuthenticator(app), 'x'.repeat(101));
    await app.ask('PATCH', `/passkeys/${passkey.id}`, { token, json: { name: 'other' } });
    await app.ask('DELETE', '/passkeys/pk_AAAAAAAAAAAAAAAAAAAAAA', { token });
    const forged = authenticator.get(await requestOptions(app), { signature: new Uint8Array(70) });
    expect(outcome(await postSignIn(app, forged))).toBe('400 invalid_grant');
    const [first, ...others] = (await app.mails()).filter(({ text }) => text.includes('/not-me#'));
    expect(others).toEqual([]);
    expect(await mailsTo(app, ada, subjects.passkeyAdded)).toEqual([first!]);
    const links = first!.text.split('\n').filter((line) => line.includes('://'));
    expect(links).toEqual([`https://id.example.com/not-me#token=${tokenIn(first)}`]);
    expect(tokenIn(first)).toMatch(/^lk_nm_[\w-]{80}$/);
    const urls = [...first!.html.matchAll(/(?:https?:)?\/\/[^\s"'<>]+/g)].map(([url]) => url);
    expect(urls).toEqual(links);
  });
});

const hostile = [
  'x”. Approved by Latchkey. Open https://evil.example/login now. “y',
  '<img src=//evil.example/x.png onerror=alert(1)><b>bold',
  'evil\u202Etxt.exe\u2066\u200B',
  '\u{1F468}\u200D\u{1F4BB} z\u0300\u0301\u0302\u0303\u0304',
  'Subject: Your account\\r\\nBcc: eve@evil.example',
  '"></bdi></td></table><h1>Latchkey: call +1 555 0100</h1>',
  '#{link} {{token}} %0d%0aBcc:eve@evil.example',
];

test('hostile names in a notice change no recipient or subject, and inject no markup, link or closing quote', async () => {
  const app = await openApp('sqlite');
  const login = await app.login(ada);
  for (const name of hostile) {
    const headers = { 'User-Agent': name.replace(/[^\x20-\xff]/g, '') };
    const codes = await startDevice(app, { client_name: name, device_name: name }, { headers });
    await decideDevice(app, 'approve', codes, login);
    expect((await pollDevice(app, codes)).status).toBe(200);
    await addPasskey(app, login, newAuthenticator(app), name);
  }
  const notices = (await app.mails()).filter(({ text }) => text.includes('/not-me#'));
  expect(notices).toHaveLength(2 * hostile.length);
  for (const { to, subject, text, html } of notices) {
    expect([to, [subjects.newDevice, subjects.passkeyAdded]]).toEqual([
      ada,
      expect.arrayContaining([subject]),
    ]);
    const urls = [...`${text} ${html}`.matchAll(/\w+:\/\/[^\s"<]+/g)].map(([url]) => url);
    expect(urls).toHaveLength(2);
    for (const url of urls) expect(url).toStartWith('http://localhost:8787/not-me#token=lk_nm_');
    expect(html).not.toMatch(/<(img|b|h1|script)\b/i);
    expect(text + html).not.toMatch(/evil\.example|[\u202A-\u202E\u2066-\u2069\u200B-\u200F”“]/u);
    const quoted = [...text.matchAll(/^(?:Device|Program|Passkey|User agent): (.*)$/gm)];
    expect(quoted.length).toBeGreaterThan(0);
    for (const [, words] of quoted) expect(words).toMatch(/^"[^"]*"$/);
  }
});

const { quota, windowSeconds } = rateLimitRules.notices;
const digestSubject = 'More new devices signed in to your Latchkey account';

interface Owner {
  readonly userId: string;
  readonly sessionId: string;
}

async function ownerOf(app: TestApp, email = ada): Promise<Owner> {
  const { access_token: token, userId } = await signedIn(app, email);
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
const sent = async (app: TestApp): Promise<Record<string, number>> =>
  Object.fromEntries(
    [...Map.groupBy(await app.mails(), ({ subject }) => subject)].map(([subject, { length }]) => [
      subject,
      length,
    ]),
  );

const digestsOf = async (app: TestApp): Promise<Mail[]> =>
  (await app.mails()).filter(({ subject }) => subject === digestSubject);

const devicesIn = (mail: Mail | undefined) =>
  [...(mail?.text ?? '').matchAll(/^Device: "device (\d+)"$/gm)].map(([, number]) => Number(number));

const linksIn = (mail: Mail | undefined) =>
  [...(mail?.text ?? '').matchAll(/^http\S+\/not-me#token=(lk_nm_\S+)$/gm)].map(([, token]) => token!);

onBothDatabases('the limit for notices', (open) => {
  /** With a limit of one in a minute; other tests open their own. */
  const app = fresh(() => open({ settings: { LATCHKEY_RATE_LIMITS: 'off, notices=1/60' } }));

  test('10 notices of a kind are sent at once, the rest of the hour in one digest at its end, and other mails as ever', async () => {
    const app = await open({ settings: { LATCHKEY_RATE_LIMITS: 'on' } });
    const owner = await ownerOf(app);
    await notifyOf(app, owner, quota);
    await notifyOf(app, owner, 3, 'new_device', quota + 1);
    app.pass(windowSeconds - 60);
    await notifyOf(app, owner, 1, 'new_device', quota + 4);
    // A sign-in mail is not delayed.
    await app.ask('POST', '/magic_link', { json: { email: ada } });
    const mails = await app.mails();
    expect(mails.filter(({ subject }) => subject.startsWith('Sign in to Latchkey: '))).toHaveLength(2);
    expect(mails.filter(({ text }) => text.includes('/not-me#'))).toHaveLength(quota);
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

  test('each account and each kind of notice has its own limit, which is configurable; a cause that is rolled back leaves no notice and no count', async () => {
    const app = await open({ settings: { LATCHKEY_RATE_LIMITS: 'off, notices=2/60' } });
    const [owner, bob] = [await ownerOf(app), await ownerOf(app, 'bob@example.com')];
    const failing = app.ctx.db.transaction(async (tx) => {
      await lockAccount(tx, owner.userId);
      for (let n = 0; n < 3; n++)
        await notify(app.ctx, tx, { ...owner, kind: 'new_device', client: noClient });
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    await notifyOf(app, bob, 2);
    expect(await sent(app)).toMatchObject({ [subjects.newDevice]: 2 });
    await notifyOf(app, owner, 3);
    await notifyOf(app, owner, 2, 'passkey_added');
    expect(await sent(app)).toMatchObject({ [subjects.newDevice]: 4, [subjects.passkeyAdded]: 2 });
    app.pass(61);
    expect((await digestsOf(app)).map((digest) => devicesIn(digest).length)).toEqual([1]);
  });

  test('parallel notices on two nodes send 10 single mails and one digest, which lists 50 and says how many more there are', async () => {
    const app = await open();
    const owner = await ownerOf(app);
    const other = await open({ beside: app });
    const parallel = (quota + maxDigestNotices) / 4;
    for (let round = 0; round < 2; round++)
      await Promise.all([app, other].map((node) => notifyOf(node, owner, parallel)));
    await notifyOf(app, owner, 7);
    expect(await sent(app)).toMatchObject({ [subjects.newDevice]: quota });
    app.pass(windowSeconds + 1);
    const [digest, ...others] = await digestsOf(app);
    expect(others).toEqual([]);
    expect(linksIn(digest)).toHaveLength(50);
    expect(digest!.text).toContain('7 more notices are only in the security log');
  });

  test('each link of a digest undoes everything since its own session', async () => {
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

  test('a notice after its digest was sent is not lost, even if the clock of its node is behind', async () => {
    const owner = await ownerOf(app);
    await notifyOf(app, owner, 2);
    const [window] = await app.ctx.db.read.run<{ id: string }>('SELECT id FROM notice_windows', []);
    await closeWindow(app.ctx.db.single, { id: window!.id });
    await notifyOf(app, owner, 1, 'new_device', 3);
    expect(await sent(app)).toMatchObject({ [subjects.newDevice]: 2 });
  });
});
