// Requests to a real service, as any client would make them.

import { type Document, requireConformance } from './conformance.ts';

export interface HttpAnswer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into any answer
  readonly body: any;
}

export interface HttpAsk {
  readonly json?: unknown;
  readonly token?: string;
  readonly headers?: Record<string, string>;
}

/** One request below /api/v1/auth of the service at `url`. */
export async function request(
  url: string,
  method: string,
  path: string,
  ask: HttpAsk = {},
): Promise<HttpAnswer> {
  const headers = new Headers(ask.headers);
  if (ask.json !== undefined) headers.set('Content-Type', 'application/json');
  if (ask.token !== undefined) headers.set('Authorization', `Bearer ${ask.token}`);
  const body = ask.json === undefined ? null : JSON.stringify(ask.json);
  const target = `${url}/api/v1/auth${path}`;
  const response = await fetch(target, { method, headers, body });
  const text = await response.text();
  await requireConformance(
    () => readDocument(url),
    { method, url: target, headers, body },
    { status: response.status, headers: response.headers, text },
  );
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}

async function readDocument(url: string): Promise<Document | undefined> {
  const answer = await fetch(`${url}/openapi.json`).catch(() => undefined);
  return answer?.ok ? ((await answer.json()) as Document) : undefined;
}

export interface MailboxMail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Sign-in mails only: a notice may come at any moment. */
async function mailsTo(url: string, address: string): Promise<MailboxMail[]> {
  const { messages } = (await (await fetch(`${url}/dev/mailbox.json`)).json()) as { messages: MailboxMail[] };
  return messages.filter((message) => message.to === address && linkTokenIn(message) !== '');
}

/** Waits until the development mailbox holds more than `seen` mails to an address; the newest of them. */
export async function mailTo(url: string, address: string, seen = 0): Promise<MailboxMail> {
  const deadline = Date.now() + 10_000;
  while (Date.now() < deadline) {
    const mails = await mailsTo(url, address);
    if (mails.length > seen) return mails[0]!;
    await Bun.sleep(20);
  }
  throw new Error(`no mail to ${address}`);
}

export const linkTokenIn = (mail: MailboxMail): string => /#token=(lk_ml_\S+)/.exec(mail.text)?.[1] ?? '';

/** Logs in by mail. */
export async function loginByMail(
  url: string,
  email: string,
): Promise<{ access_token: string; refresh_token: string }> {
  const seen = (await mailsTo(url, email)).length;
  await request(url, 'POST', '/magic_link', { json: { email } });
  const token = linkTokenIn(await mailTo(url, email, seen));
  const { status, body } = await request(url, 'POST', '/magic_link/verify', { json: { token } });
  if (status !== 200) throw new Error(`login: ${status}`);
  return body;
}

/** Denies a device: each time one more event in the log of the account. */
export async function denyDevice(
  url: string,
  token: string,
  headers: Record<string, string> = {},
): Promise<void> {
  const { body } = await request(url, 'POST', '/device', { json: {} });
  await request(url, 'POST', '/device/deny', { token, json: { user_code: body.user_code }, headers });
}
