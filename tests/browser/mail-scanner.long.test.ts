// What mail scanners do to the links in every kind of email: they fetch them, open them in a browser of their own, run
// scripts, press the first button, press Enter, and follow the links on the page.

import { expect, test } from 'bun:test';
import { noticeKinds } from '@latchkey/contract/notices';
import type { Page } from 'playwright-core';
import { subjects } from '../support/account.ts';
import { createAuthenticator } from '../support/authenticator.ts';
import { redirectUri, requestOf, verifier } from '../support/authorize.ts';
import { newPage, untilIdle } from '../support/browser.ts';
import { deviceTokens, linkTokenIn, loginByMail, mailTo, request } from '../support/http.ts';
import { changesBy, linkTo } from '../support/people.ts';
import { registerService, runOperator, startService } from '../support/service.ts';
import { shared } from '../support/shared.ts';
import { until } from '../support/until.ts';

interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

const service = shared(() =>
  startService({ env: { LATCHKEY_REFRESH_REUSE_LEEWAY: '0', LATCHKEY_APPROVAL: 'recent' } }),
);

const call = async (method: string, path: string, ask: Parameters<typeof request>[3] = {}) => {
  const { status, body } = await request(service.url, method, path, ask);
  if (status >= 400) throw new Error(`${method} ${path}: ${status} ${body.error}`);
  return body;
};

const owner = 'owner@example.com';
const tokenOf = (link: string) => link.slice(link.indexOf('=') + 1);

async function addPasskey(token: string): Promise<string> {
  const options = await call('POST', '/passkey/register/challenge', { token });
  const json = createAuthenticator({ origin: service.url }).create(options);
  return (await call('POST', '/passkey/register', { token, json })).id;
}

async function createKey(token: string): Promise<string> {
  return (await call('POST', '/keys', { token, json: { name: 'CI', scope: 'profile', expires_in: 3600 } }))
    .id;
}

/** Signs in to an application from another program than the account has used. */
async function signInToApp(token: string): Promise<void> {
  const options = ['--redirect', redirectUri, '--public'];
  const client_id = await registerService(service, 'app', ...options);
  const asked = requestOf(client_id);
  const { scope } = await call('POST', '/authorize/verify', { token, json: asked });
  const { redirect } = await call('POST', '/authorize/approve', { token, json: { ...asked, scope } });
  const code = new URL(redirect).searchParams.get('code')!;
  const form = { grant_type: 'authorization_code', code, code_verifier: verifier, client_id };
  const answer = await fetch(`${service.url}/api/v1/auth/token`, {
    method: 'POST',
    headers: { 'User-Agent': 'App/1.0' },
    body: new URLSearchParams({ ...form, redirect_uri: redirectUri }),
  });
  expect(answer.status).toBe(200);
}

/** Changes an account's email; returns the link that undoes it. */
async function changedAddress(from: string, to: string): Promise<{ token: string; undo: string }> {
  const { access_token: token } = await loginByMail(service.url, from);
  await call('POST', '/me/email', { token, json: { email: to } });
  const link = await linkTo(service.url, to, subjects.confirmAddress);
  await call('POST', '/me/email/verify', { token, json: { token: tokenOf(link) } });
  return { token, undo: await linkTo(service.url, from, subjects.emailChanged) };
}

/** Makes the service send every kind of email, each with an unused link. */
async function causeAllMails(): Promise<{ token: string; deviceToken: string }> {
  const { access_token: token } = await loginByMail(service.url, owner);
  const restored = await changedAddress('restored@example.com', 'restored@new.example');
  await call('POST', '/me/email', { token: restored.token, json: { email: owner } });
  await call('POST', '/notices/disown', { json: { token: tokenOf(restored.undo) } });
  await changedAddress('mover@example.com', 'mover@new.example');
  const leaver = await loginByMail(service.url, 'leaver@example.com');
  await call('DELETE', '/me', { token: leaver.access_token });

  const repeated = await deviceTokens(service.url, token);
  for (const program of ['First', 'Second']) {
    await call('POST', '/refresh', {
      json: { refresh_token: repeated.refresh_token },
      headers: { 'Idempotency-Key': 'repeated', 'User-Agent': `${program}/1.0` },
    });
  }
  const deviceToken = (await deviceTokens(service.url, token)).access_token;
  await addPasskey(token);
  await call('DELETE', `/passkeys/${await addPasskey(token)}`, { token });
  await signInToApp(token);
  await createKey(token);
  await call('DELETE', `/keys/${await createKey(token)}`, { token });
  expect((await runOperator(service.env, 'users', 'sign-in-link', owner)).code).toBe(0);
  await call('POST', '/magic_link', { json: { email: owner } });
  const json = { token: linkTokenIn(await mailTo(service.url, owner, 1)) };
  const strange = await call('POST', '/magic_link/verify', {
    json,
    headers: { 'User-Agent': 'Strange/1.0' },
  });
  const spent = { json: { refresh_token: strange.refresh_token } };
  await call('POST', '/refresh', spent);
  expect((await request(service.url, 'POST', '/refresh', spent)).status).toBe(400);
  await call('POST', '/me/email', { token, json: { email: 'owner@new.example' } });
  await linkTo(service.url, 'owner@new.example', subjects.confirmAddress);
  await call('POST', '/magic_link', { json: { email: owner } });
  await mailTo(service.url, owner, 2);
  return { token, deviceToken };
}

const allSubjects = [
  ...Object.values(subjects),
  'Sign in to Latchkey',
  'This address was removed from an account at Latchkey',
  'Your Latchkey account has been deleted',
].toSorted();

/** The subject, without the code of a sign-in email. */
const kindOf = ({ subject }: Mail) => subject.replace(/: \d{4}-\d{4}$/, '');

/** The newest email of each kind, once all kinds have arrived. */
async function oneOfEach(): Promise<Mail[]> {
  let newest = new Map<string, Mail>();
  await until(
    async () => {
      const { messages } = await (await fetch(`${service.url}/dev/mailbox.json`)).json();
      newest = new Map<string, Mail>(messages.toReversed().map((mail: Mail) => [kindOf(mail), mail]));
      return newest.size >= allSubjects.length;
    },
    () => `an email of each kind, of which there are ${[...newest.keys()].join(', ')}`,
  );
  return [...newest.values()];
}

const unescaped = (html: string) => html.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));

function linksIn({ text, html }: Mail): string[] {
  const inText = text.match(/https?:\/\/\S+/g) ?? [];
  const inHtml = [...html.matchAll(/href="([^"]*)"/g)].map(([, link]) => unescaped(link ?? ''));
  expect(inHtml).toEqual(inText);
  return inText;
}

const maxPresses = 3;
const scanDeadlineMs = 120_000;

async function pressAround(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor();
  for (
    let presses = 0;
    presses < maxPresses && (await page.getByRole('button', { disabled: false }).count()) > 0;
    presses++
  )
    await page.getByRole('button', { disabled: false }).first().click();
  const field = page.getByRole('textbox').first();
  if (await field.isVisible()) await field.focus();
  await page.keyboard.press('Enter');
}

/** Scans a link; returns the requests that could change something, and the cookies received. */
async function scan(link: string): Promise<string[]> {
  for (const method of ['GET', 'HEAD']) await fetch(link, { method });
  const page = await newPage();
  const changes = changesBy(page.context());
  const open = async () => {
    await page.goto('about:blank');
    await page.goto(link);
    await page.getByRole('heading', { level: 1 }).waitFor();
  };
  await open();
  const links = await page.getByRole('link').count();
  await pressAround(page);
  for (let index = 0; index < links; index++) {
    await open();
    await page.getByRole('link').nth(index).click();
    await pressAround(page);
  }
  await untilIdle(page);
  const cookies = (await page.context().cookies()).map(({ name }) => `cookie ${name}`);
  await page.context().close();
  return [...changes, ...cookies];
}

test(
  'a mail scanner that opens every emailed link signs no one in, changes nothing and spends no link',
  async () => {
    const { token, deviceToken } = await causeAllMails();
    const mails = await oneOfEach();
    expect(mails.map(kindOf).toSorted()).toEqual(allSubjects);
    const links = mails.flatMap(linksIn);
    expect(links).toHaveLength(noticeKinds.length + 2);
    expect(new Set(links.map((link) => new URL(link).pathname))).toEqual(
      new Set(['/magic-link', '/verify-email', '/not-me']),
    );

    const paths = ['/me', '/sessions', '/passkeys', '/events'];
    const look = async () => {
      const seen = await Promise.all(paths.map((path) => call('GET', path, { token })));
      return JSON.parse(JSON.stringify(seen), (key, value) => (key === 'last_used_at' ? undefined : value));
    };
    const before = await look();
    expect(await Promise.all(links.map(scan))).toEqual(links.map(() => []));
    expect(await look()).toEqual(before);

    // Every link still works afterwards.
    const linkAbout = (subject: string) => linksIn(mails.find((mail) => kindOf(mail) === subject)!)[0] ?? '';
    const use = (path: string, subject: string, proof: object = {}) =>
      call('POST', path, { json: { token: tokenOf(linkAbout(subject)), ...proof } });
    expect((await use('/magic_link/verify', 'Sign in to Latchkey')).token_type).toBe('Bearer');
    expect((await use('/me/email/verify', subjects.confirmAddress, { current_email: owner })).email).toBe(
      'owner@new.example',
    );
    expect((await use('/notices/disown', subjects.newDevice)).kind).toBe('new_device');
    expect((await request(service.url, 'GET', '/me', { token: deviceToken })).status).toBe(401);
    expect((await use('/notices/disown', subjects.emailChanged)).email).toBe('mover@example.com');
    for (const subject of [
      subjects.newBrowser,
      subjects.passkeyAdded,
      subjects.passkeyRemoved,
      subjects.keyAdded,
      subjects.keyRemoved,
      subjects.theft,
    ])
      expect(await use('/notices/disown', subject)).toHaveProperty('kind');
  },
  scanDeadlineMs,
);
