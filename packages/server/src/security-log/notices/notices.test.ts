import { expect, test } from 'bun:test';
import {
  addPasskey,
  askForAddress,
  mailsTo,
  newAuthenticator,
  passkeyLogin,
  signInByMail,
  subjects,
  tokenIn,
  verifyAddress,
} from '../../../../../tests/support/account.ts';
import { type Ask, onBothDatabases, openApp, type TestApp } from '../../../../../tests/support/app.ts';
import { decideDevice, pollDevice, startDevice } from '../../../../../tests/support/devices.ts';
import { startSmtp } from '../../../../../tests/support/smtp.ts';
import { templates } from '../../app.ts';
import { smtpTransport } from '../../platform/mail/transport.ts';
import { MailWorker } from '../../platform/mail/worker.ts';

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
      [{ peer: '::ffff:192.0.2.7', headers: agent(firefox) }, 2],
      [{ peer: '2001:db8::1', headers: agent(firefox) }, 3],
      [{ peer: '2001:db8::ffff:1', headers: agent(firefox) }, 3],
      [{ peer: '2001:db8:0:1::1', headers: agent(firefox) }, 4],
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

  test('a new device, an added or removed passkey, a changed address and a stopped theft each send one notice', async () => {
    const app = await open({ settings: { LATCHKEY_REFRESH_REUSE_LEEWAY: '0' } });
    const tokens = await app.login(ada);
    const device = await app.deviceLogin(tokens);
    expect(await count(app, subjects.newDevice)).toBe(1);
    const { body: passkey } = await addPasskey(app, tokens, newAuthenticator(app), 'blue key');
    expect(await count(app, subjects.passkeyAdded)).toBe(1);
    await app.ask('DELETE', `/passkeys/${passkey.id}`, { token: tokens.access_token });
    expect(await count(app, subjects.passkeyRemoved)).toBe(1);
    const { refresh_token } = device;
    for (let n = 0; n < 4; n++) await app.ask('POST', '/refresh', { json: { refresh_token } });
    expect(await count(app, subjects.theft)).toBe(1);
    await verifyAddress(app, await askForAddress(app, tokens, 'ada@new.example'));
    expect(await count(app, subjects.emailChanged)).toBe(1);
    for (const [subject, words] of [
      [subjects.passkeyAdded, 'Passkey: "blue key"'],
      [subjects.emailChanged, 'New address: ada@new[.]example'],
    ] as const) {
      expect((await mailsTo(app, ada, subject))[0]?.text).toContain(words);
    }
    expect((await app.mails()).filter(({ text }) => text.includes('/not-me#')).length).toBe(5);
  });

  test('failed requests and renames send no notice; the link is alone on its line, in text and HTML, and the same in each sending', async () => {
    const app = await open({ settings: { LATCHKEY_BASE_URL: 'https://id.example.com' } });
    const tokens = await app.login(ada);
    const { access_token: token } = tokens;
    const { body: passkey } = await addPasskey(app, tokens, newAuthenticator(app));
    await addPasskey(app, tokens, newAuthenticator(app), 'x'.repeat(101));
    await app.ask('PATCH', `/passkeys/${passkey.id}`, { token, json: { name: 'other' } });
    await app.ask('DELETE', '/passkeys/pk_AAAAAAAAAAAAAAAAAAAAAA', { token });
    await passkeyLogin(app, newAuthenticator(app)).catch(() => undefined);
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

test('hostile names in a notice inject no header, markup, link or closing quote', async () => {
  const smtp = await startSmtp();
  const app = await openApp('sqlite', { settings: { LATCHKEY_SMTP_URL: smtp.url } });
  const login = await app.login(ada);
  for (const name of hostile) {
    const headers = { 'User-Agent': name.replace(/[^\x20-\xff]/g, '') };
    const codes = await startDevice(app, { client_name: name, device_name: name }, { headers });
    await decideDevice(app, 'approve', codes, login);
    expect((await pollDevice(app, codes)).status).toBe(200);
    await addPasskey(app, login, newAuthenticator(app), name);
  }
  const worker = new MailWorker(app.ctx, templates, smtpTransport(app.ctx.config, smtp.url));
  const mails = await smtp.received(2 * hostile.length);
  await worker.stop();
  for (const { to, raw } of mails) {
    expect(to).toEqual([ada]);
    const [headers = '', ...rest] = raw.split('\r\n\r\n');
    expect(headers).not.toMatch(/evil|^Bcc:/im);
    expect(headers).toMatch(/^Subject: A (new device|passkey) /m);
    const content = Buffer.from(
      rest
        .join('\r\n\r\n')
        .replace(/=\r\n/g, '')
        .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
      'latin1',
    ).toString('utf8');
    const urls = [...content.matchAll(/\w+:\/\/[^\s"<]+/g)].map(([url]) => url);
    expect(urls).toHaveLength(2);
    for (const url of urls) expect(url).toStartWith('http://localhost:8787/not-me#token=lk_nm_');
    const html = content.slice(content.indexOf('<!doctype'));
    expect(html).not.toMatch(/<(img|b|h1|script)\b/i);
    expect(content).not.toMatch(/evil\.example|[\u202A-\u202E\u2066-\u2069\u200B-\u200F”“]/u);
    const quoted = [...content.matchAll(/^(?:Device|Program|Passkey|User agent): (.*)$/gm)];
    expect(quoted.length).toBeGreaterThan(0);
    for (const [, words] of quoted) expect(words).toMatch(/^"[^"]*"\r?$/);
  }
  await smtp.close();
});
