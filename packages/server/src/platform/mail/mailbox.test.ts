// The development mailbox: what it shows, and when it does not exist.

import { expect, test } from 'bun:test';
import { outcome } from '#support/account.ts';
import { openApp, type TestApp } from '#support/app.ts';
import { fresh } from '#support/shared.ts';

const t = fresh(() => openApp('sqlite'));

const request = (t: TestApp, email: string) => t.ask('POST', '/magic_link', { json: { email } });

const paths = ['dev/mailbox', 'dev/mailbox.json'];

test('/dev/mailbox.json lists mails newest first, with five members each', async () => {
  const addresses = ['a@example.com', 'b@example.com', 'c@example.com'];
  for (const email of addresses) {
    await request(t, email);
    t.pass(1);
  }
  await t.mails();
  const { body, headers } = await t.ask('GET', 'dev/mailbox.json');
  expect(headers.get('Content-Type')).toStartWith('application/json');
  expect(headers.get('Cache-Control')).toBe('no-store');
  expect(Object.keys(body)).toEqual(['messages']);
  expect(body.messages.map((mail: { to: string }) => mail.to)).toEqual(addresses.toReversed());
  for (const mail of body.messages) {
    expect(Object.keys(mail).sort()).toEqual(['html', 'sent_at', 'subject', 'text', 'to']);
    expect(mail.sent_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(mail.text).toContain('#token=lk_ml_');
    expect(mail.html).toContain('#token=lk_ml_');
  }
});

test('/dev/mailbox shows mails with clickable links, escapes their text, and has their HTML in a frame that runs nothing', async () => {
  const email = "x&'`{}#$*+/=?^_|~-@example.com";
  expect((await request(t, email)).status).toBe(202);
  const [mail] = await t.mails();
  const { text: page, headers } = await t.ask('GET', 'dev/mailbox');
  expect(headers.get('Content-Type')).toStartWith('text/html');
  expect(headers.get('Content-Security-Policy')).toContain("frame-ancestors 'none'");
  expect(headers.get('Referrer-Policy')).toBe('no-referrer');
  expect(page).toContain(`href="http://localhost:8787/magic-link#token=${mail!.token}"`);
  expect(page).toContain(mail!.code);
  expect(page).not.toContain(email);
  expect(page).toContain('x&#38;&#39;');

  const [, path = ''] = /<iframe src="\/(dev\/mailbox\/[^"]+)"/.exec(page) ?? [];
  const frame = await t.ask('GET', path);
  expect(frame.text).toBe(mail!.html.replace('<head>', '<head><base target="_blank">'));
  expect(frame.headers.get('Content-Security-Policy')!.split('; ')).toEqual(
    expect.arrayContaining([
      "default-src 'none'",
      "frame-ancestors 'self'",
      'sandbox allow-popups allow-popups-to-escape-sandbox',
    ]),
  );
  expect((await t.ask('GET', 'dev/mailbox/none')).status).toBe(404);
  expect((await t.ask('GET', path, { headers: { Forwarded: 'for=198.51.100.1' } })).status).toBe(404);
});

test('the mailbox answers GET and HEAD alone, and omits waiting mails and mails whose link was deleted', async () => {
  for (const path of paths) {
    expect((await t.ask('HEAD', path)).status).toBe(200);
    const refused = await t.ask('POST', path);
    expect([refused.status, refused.headers.get('Allow')]).toEqual([405, 'GET, HEAD']);
  }
  await request(t, 'ada@example.com');
  expect((await t.ask('GET', 'dev/mailbox.json')).body).toEqual({ messages: [] });
  expect(await t.mails()).toHaveLength(1);
  await t.ctx.db.single.run('DELETE FROM magic_links', []);
  expect((await t.ask('GET', 'dev/mailbox.json')).body).toEqual({ messages: [] });
});

// config.test.ts has every setting that leaves it out.
test('the mailbox does not exist on a public host, and not for a forwarded request', async () => {
  const open = await openApp('sqlite', { settings: { HOST: '0.0.0.0' } });
  const names = ['Forwarded', 'X-Forwarded-For', 'X-Forwarded-Host', 'X-Forwarded-Proto', 'X-Real-IP'];
  for (const path of paths) {
    for (const method of ['GET', 'POST']) expect(outcome(await open.ask(method, path))).toBe('404 not_found');
    for (const name of names)
      expect(outcome(await t.ask('GET', path, { headers: { [name]: '127.0.0.1' } }))).toBe('404 not_found');
  }
});
