// Mails over a real SMTP conversation.

import { expect, test } from 'bun:test';
import { type AppOptions, onBothDatabases, openApp, type TestApp } from '#support/app.ts';
import { closeAtTestEnd } from '#support/cleanup.ts';
import { logoFile, pngLogo } from '#support/logos.ts';
import { runOperator } from '#support/service.ts';
import { plainText, startSmtp } from '#support/smtp.ts';
import { until } from '#support/until.ts';
import { templates } from '../../app.ts';
import { accountDeletedTemplate } from '../../whole-account/mail.ts';
import { enqueueMail } from './outbox.ts';
import { listUnsent } from './outbox-store.ts';
import { reachSmtp, smtpTransport } from './transport.ts';
import { isPermanentRefusal, MailWorker, ordinarySlots, retryPauseMs, slowSlots } from './worker.ts';

/** Longer than a test: a mail server that hangs ends no attempt by itself, however busy the machine is. */
const forever = { connectionTimeout: 600_000, greetingTimeout: 600_000, socketTimeout: 600_000 };

/** Starts a worker, which tests wake as the service does. */
function work(t: TestApp, url: string): MailWorker {
  const worker = new MailWorker(t.ctx, templates, smtpTransport(t.ctx.config, url, forever));
  // Before the service is closed: a query on a closed database may never end.
  closeAtTestEnd(() => worker.stop());
  return worker;
}

/** The service, and the mail server that it uses. */
async function withSmtp(
  open: (options: AppOptions) => Promise<TestApp>,
  settings: Record<string, string> = {},
) {
  const smtp = await startSmtp();
  return { smtp, t: await open({ settings: { ...settings, LATCHKEY_SMTP_URL: smtp.url } }) };
}

const request = (t: TestApp, email = 'ada@example.com') => t.ask('POST', '/magic_link', { json: { email } });

const unsent = (t: TestApp) => listUnsent(t.ctx.db.read, { limit: 100 });

/** Whether the latest finished attempt failed with this message. */
const failedWith = (t: TestApp, words: string) => () =>
  unsent(t).then(([mail]) => mail?.last_error?.includes(words) ?? false);

const header = (raw: string, name: string): string | undefined =>
  new RegExp(`^${name}: (.*(?:\\r?\\n[ \\t].*)*)`, 'mi').exec(raw)?.[1]?.replace(/\r?\n[ \t]/g, ' ');

const typesIn = (raw: string) => [...raw.matchAll(/^Content-Type: ([\w/]+)/gim)].map(([, type]) => type);

onBothDatabases('mail by SMTP', (open, dialect) => {
  test('a mail is given up after three 550 responses, and a 451 does not count', async () => {
    const { smtp, t } = await withSmtp(open);
    await request(t);
    const answers = [451, 550, 451, 550, 550] as const;
    smtp.failFor('ada@example.com', answers[0]);
    const worker = work(t, smtp.url);
    for (const [index, code] of answers.entries()) {
      expect((await unsent(t))[0]?.dead_at).toBeNull();
      await until(async () => (await unsent(t))[0]?.attempts === index + 1, `attempt ${index + 1}`);
      await until(failedWith(t, `no ${code}`), `the refusal with ${code}`);
      const next = answers[index + 1];
      if (next !== undefined) smtp.failFor('ada@example.com', next);
      if (index < answers.length - 1) {
        await until(
          async () => Number((await unsent(t))[0]?.next_attempt_at) > t.ctx.clock(),
          'a pause before the next attempt',
        );
        t.pass(60);
        worker.wake();
      }
    }
    await until(async () => (await unsent(t))[0]?.dead_at !== null, 'a dead letter');
    t.pass(600);
    await request(t, 'bob@example.com');
    worker.wake();
    await smtp.received(1);
    expect(smtp.attempts('ada@example.com')).toBe(answers.length);
    await until(async () => (await unsent(t)).length === 1, 'one mail left in the outbox');
    expect((await unsent(t))[0]).toMatchObject({ attempts: answers.length });
    expect(await t.ctx.metrics.registry.metrics()).toContain('latchkey_mails_total{outcome="given_up"} 1');
  });

  test('eight recipients that hang, again and again, do not delay other sign-in mails; those that fail at once are not slow', async () => {
    const { smtp, t } = await withSmtp(open);
    const slow = Array.from({ length: 8 }, (_, n) => `slow${n}@example.com`);
    smtp.failFor('quick@example.com', 451);
    await request(t, 'quick@example.com');
    for (const email of slow) {
      smtp.failFor(email, 'hang');
      await request(t, email);
    }
    const attempts = () => slow.reduce((sum, email) => sum + smtp.attempts(email), 0);
    const worker = work(t, smtp.url);
    await until(() => attempts() === slow.length, 'an attempt for each slow mail');
    await request(t, 'first@example.com');
    worker.wake();
    expect((await smtp.received(1))[0]!.to).toEqual(['first@example.com']);
    const hasFailed = async () => (await unsent(t)).some((mail) => mail.last_error !== null);
    await until(hasFailed, 'the failure of the quick mail');
    // Now they are slow, for the first time.
    t.pass(3);
    for (const email of slow) smtp.failFor(email, 451);
    const haveFailed = async () => (await unsent(t)).every((mail) => mail.last_error !== null);
    await until(haveFailed, 'a failure of each mail');
    const counted = 'SELECT slow_attempts AS n FROM outbox WHERE sent_at IS NULL ORDER BY recipient';
    const rows = await t.ctx.db.read.run<{ n: number }>(counted, []);
    expect(rows.map(({ n }) => Number(n))).toEqual([0, ...slow.map(() => 1)]);
    smtp.failFor('quick@example.com', 'hang');
    for (const email of slow) smtp.failFor(email, 'hang');
    t.pass(6);
    worker.wake();
    await until(() => attempts() >= slow.length + slowSlots, 'second attempts in the slots for slow mails');
    await request(t, 'second@example.com');
    worker.wake();
    expect((await smtp.received(2))[1]!.to).toEqual(['second@example.com']);
    expect(attempts()).toBe(slow.length + slowSlots);
    for (const email of ['quick@example.com', ...slow]) smtp.failFor(email, 451);
  });

  test('a sign-in mail is sent before any number of notices, even if their recipients hang', async () => {
    const { smtp, t } = await withSmtp(open);
    const expiresAt = t.ctx.clock() + 600_000;
    smtp.failFor('slow@example.com', 'hang');
    await t.ctx.db.transaction(async (tx) => {
      for (let n = 0; n < 40; n++) {
        const recipient = n < 20 ? 'slow@example.com' : `person${n}@example.com`;
        const mail = { template: accountDeletedTemplate, reference: '', expiresAt };
        await enqueueMail(t.ctx, tx, { ...mail, recipient, recipientKey: recipient });
      }
    });
    const worker = work(t, smtp.url);
    await until(() => smtp.attempts('slow@example.com') === ordinarySlots, 'attempts in all ordinary slots');
    await request(t);
    worker.wake();
    const [first] = await smtp.received(1);
    expect(first!.to).toEqual(['ada@example.com']);
    expect(smtp.attempts('slow@example.com')).toBe(ordinarySlots);
    smtp.failFor('slow@example.com', 451);
  });

  test('an unsent mail becomes a dead letter when its link expires, and stays in the list', async () => {
    const { smtp, t } = await withSmtp(open);
    smtp.failFor('ada@example.com', 451);
    await request(t);
    const worker = work(t, smtp.url);
    await until(failedWith(t, 'no 451'), 'a refused mail');
    t.pass(901);
    worker.wake();
    await until(async () => (await unsent(t))[0]?.dead_at !== null, 'a dead letter');
    const [dead] = await unsent(t);
    expect(dead).toMatchObject({ template: 'sign_in', attempts: 2 });
    expect(dead!.last_error).toContain('no 451 for');
    expect(dead!.last_error).not.toContain('ada@example.com');
    t.pass(3600);
    worker.wake();
    await t.sweep();
    const { stdout } = await runOperator({ DATABASE_URL: t.databaseUrl, LATCHKEY_KEYS: t.keys }, 'outbox');
    expect(JSON.parse(stdout)).toMatchObject({ template: 'sign_in', state: 'dead', attempts: 2 });
    expect(stdout).not.toContain('ada@example.com');
    expect(smtp.messages).toHaveLength(0);
  });

  // The others are about the conversation with the mail server.
  if (dialect === 'postgres') return;

  test('a sign-in mail has text and HTML, and goes from the configured sender to the address as typed', async () => {
    const from = 'Latchkey Login <login@id.example.com>';
    const { smtp, t } = await withSmtp(open, { LATCHKEY_MAIL_FROM: from });
    const typed = 'Ada.Lovelace+x@example.com';
    await request(t, typed);
    work(t, smtp.url);
    const [{ raw, ...envelope } = {} as never] = await smtp.received(1);
    expect(envelope).toMatchObject({ from: 'login@id.example.com', to: [typed] });
    const headers = ['From', 'To', 'Auto-Submitted'].map((name) => header(raw, name));
    expect(headers).toEqual([from, typed, 'auto-generated']);
    expect(header(raw, 'Subject')).toMatch(/^Sign in to Latchkey: \d{4}-\d{4}$/);
    expect(typesIn(raw)).toEqual(['multipart/alternative', 'text/plain', 'text/html']);
    const text = plainText(raw);
    const token = /^http:\/\/localhost:8787\/magic-link#token=(lk_ml_[\w-]+)\r?$/m.exec(text)?.[1];
    expect(text).toMatch(/^\d{4}-\d{4}\r?$/m);
    expect((await t.ask('POST', '/magic_link/verify', { json: { token } })).status).toBe(200);
    await until(async () => (await unsent(t)).length === 0, 'an empty outbox');
  });

  test('the product is in the sender and the subject, and a PNG logo comes with the HTML, not beside it', async () => {
    const bytes = pngLogo(40, 10);
    const logo = logoFile('logo.png', bytes);
    const { smtp, t } = await withSmtp(open, { LATCHKEY_PRODUCT_NAME: 'Acme & Co', LATCHKEY_LOGO: logo });
    await request(t);
    work(t, smtp.url);
    const [{ raw } = {} as never] = await smtp.received(1);
    expect(header(raw, 'From')).toBe('"Acme & Co" <no-reply@localhost>');
    expect(header(raw, 'Subject')).toStartWith('Sign in to Acme & Co: ');
    const parts = ['text/plain', 'multipart/related', 'text/html', 'image/png'];
    expect(typesIn(raw)).toEqual(['multipart/alternative', ...parts]);
    expect(header(raw, 'Content-ID')).toBe('<logo@product>');
    expect(header(raw, 'Content-Disposition')).toBe('inline; filename=logo.png');
    expect(plainText(raw)).toContain('src="cid:logo@product"');
    expect(raw.replaceAll('\r\n', '')).toContain(Buffer.from(bytes).toString('base64'));
  });
});

/** This machine by an address that is not a loopback address. */
const elsewhere = (url: string): string => url.replace('127.0.0.1', '0.0.0.0');

test.each([
  ['without TLS gets no mail and no credentials', false, 'STARTTLS'],
  ['needs a valid certificate', true, 'certificate'],
])('a remote mail server %s', async (_, offersTls, reason) => {
  const smtp = await startSmtp({ offersTls });
  const url = elsewhere(smtp.url).replace('//', '//latchkey:secret@');
  const t = await openApp('sqlite', { settings: { LATCHKEY_SMTP_URL: url } });
  await request(t);
  work(t, url);
  await until(failedWith(t, reason), `a connection refused for its ${reason}`);
  await expect(reachSmtp(url)).rejects.toThrow(reason);
  expect(smtp.connections()).toBeGreaterThan(0);
  expect(smtp.messages).toEqual([]);
});

test('an accepted address is the only recipient in envelope and header, with its domain in ASCII', async () => {
  const { smtp, t } = await withSmtp((options) => openApp('sqlite', options));
  const plain = ["o'brien@example.com", 'a=b@example.com', '#$&*+-/?^_`{|}~@example.com'];
  const accepted = [...plain, `${'x'.repeat(64)}@example.com`, 'd@b\u00fccher.example'];
  for (const email of [...accepted, 'c@xn--bcher-kva.example'])
    expect((await request(t, email)).status).toBe(202);
  work(t, smtp.url);
  const mails = await smtp.received(accepted.length + 1);
  // The test's server shows the encoded names of the envelope decoded.
  const recipients = [...accepted, 'c@b\u00fccher.example'].map((email) => [email]);
  expect(mails.map((mail) => mail.to).sort()).toEqual(recipients.sort());
  for (const { raw, to } of mails) {
    expect(raw.match(/^To:/gim)).toHaveLength(1);
    if (/^[cd]@/.test(to[0]!)) expect(raw).toMatch(/^To: [cd]@xn--bcher-kva\.example\r$/m);
  }
});

test.each([
  ['EENVELOPE', 550, true],
  ['EENVELOPE', 599, true],
  ['EENVELOPE', 450, false],
  ['EENVELOPE', 499, false],
  ['ECONNECTION', undefined, false],
  ['EAUTH', 535, false],
])('%s with the response %p is a permanent refusal: %p', (code, responseCode, isPermanent) => {
  expect(isPermanentRefusal(Object.assign(new Error('refused'), { code, responseCode }))).toBe(isPermanent);
});

test('retry pauses double from at most 10 s up to 5 minutes', () => {
  const pauses = Array.from({ length: 12 }, (_, n) => retryPauseMs(n + 1));
  expect(pauses[0]).toBeLessThanOrEqual(10_000);
  for (const [n, pause] of pauses.slice(1).entries()) expect(pause).toBe(Math.min(pauses[n]! * 2, 300_000));
});
