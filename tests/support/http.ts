// Requests to a service in another process.

import { type Api, createApi } from '@latchkey/client/api';
import { type Ask, answerOf, requestFor } from './ask.ts';
import { type Document, deviations, requireNone } from './conformance.ts';
import { driverOf } from './driver.ts';
import { until } from './until.ts';

/** The SDK as a client of the service at `url`. */
const apiAt = (url: string): Api =>
  createApi({ server: url, fetch: (target, init) => checkedFetch(url, target, init) });

async function checkedFetch(url: string, target: string, init: RequestInit): Promise<Response> {
  const response = await fetch(target, init);
  requireNone(await deviations(() => readDocument(url), target, init, response));
  return response;
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

/** The mails in the development mailbox, newest first. */
async function mailbox(url: string): Promise<MailboxMail[]> {
  const { messages } = (await (await fetch(`${url}/dev/mailbox.json`)).json()) as { messages: MailboxMail[] };
  return messages;
}

/** Only sign-in mails: a security notice may arrive at any moment. */
const signInMailsTo = async (url: string, address: string): Promise<MailboxMail[]> =>
  (await mailbox(url)).filter((mail) => mail.to === address && linkTokenIn(mail) !== '');

/** How many sign-in mails an address has got. */
export const mailsSoFar = async (url: string, address: string): Promise<number> =>
  (await signInMailsTo(url, address)).length;

/** Waits until the development mailbox holds more than `seen` sign-in mails to an address; returns the newest. */
export const mailTo = (url: string, address: string, seen = 0): Promise<MailboxMail> =>
  arrived(`a mail to ${address}`, async () => {
    const mails = await signInMailsTo(url, address);
    return mails.length > seen ? mails[0] : undefined;
  });

/** Waits for a mail to an address whose subject contains this; returns the newest. */
export const mailAbout = (url: string, address: string, subject: string): Promise<MailboxMail> =>
  arrived(`a mail about ${subject} to ${address}`, async () =>
    (await mailbox(url)).find((mail) => mail.to === address && mail.subject.includes(subject)),
  );

async function arrived(what: string, find: () => Promise<MailboxMail | undefined>): Promise<MailboxMail> {
  let mail: MailboxMail | undefined;
  await until(async () => {
    mail = await find();
    return mail !== undefined;
  }, what);
  return mail!;
}

/** The address of the link in a mail, or `''`. */
export const linkIn = ({ text }: Pick<MailboxMail, 'text'>): string =>
  /^http\S+#token=\S+$/m.exec(text)?.[0] ?? '';

/** The code in a sign-in mail, or `''`. */
export const codeIn = ({ text }: Pick<MailboxMail, 'text'>): string => /^\d{4}-\d{4}$/m.exec(text)?.[0] ?? '';

/** The token of the link in a sign-in mail, or `''`. */
export const linkTokenIn = ({ text }: Pick<MailboxMail, 'text'>): string =>
  /#token=(lk_ml_\S+)/.exec(text)?.[1] ?? '';

/** The service at `url`. */
export function serviceAt(url: string) {
  const ask = async (...sent: [method: string, path: string, ask?: Ask]) =>
    answerOf(await checkedFetch(url, ...requestFor(url, ...sent)));
  const linkTokenFor = async (email: string): Promise<string> => {
    const seen = await mailsSoFar(url, email);
    await api.call('requestMagicLink', { body: { email } });
    return linkTokenIn(await mailTo(url, email, seen));
  };
  const api = apiAt(url);
  return driverOf({ url, ask, api, linkTokenFor });
}

/**
 * The refreshes that the service at `url` has answered since it started, by outcome. Its log says so, too, but only a few milliseconds
 * later.
 */
export async function refreshesSoFar(url: string): Promise<Record<string, number>> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const counts = text.matchAll(/^latchkey_refreshes_total\{outcome="(\w+)"\} (\d+)$/gm);
  return Object.fromEntries([...counts].map(([, outcome, count]) => [outcome!, Number(count)]));
}

/** The refreshes that it answers during some work, by outcome. Those besides `rotated` and `retry` are left out if there are none. */
export async function refreshesDuring(
  url: string,
  work: () => Promise<void>,
): Promise<Record<string, number>> {
  const before = await refreshesSoFar(url);
  await work();
  const counts = Object.entries(await refreshesSoFar(url)).map(
    ([outcome, count]) => [outcome, count - (before[outcome] ?? 0)] as const,
  );
  const seen = Object.fromEntries(counts.filter(([, count]) => count > 0));
  const { rotated = 0, retry = 0, ...others } = seen;
  return { rotated, retry, ...others };
}

export const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';

/** The parameters of an exchange of this access token, or of the session of a page. */
export const exchangeForm = (token?: string, scope?: string) => ({
  grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
  ...(token === undefined ? {} : { subject_token: token, subject_token_type: accessTokenType }),
  ...(scope === undefined ? {} : { scope }),
});
