// Emails as a mail server received them: which promised email it is, its link and its code.

import { codeIn, linkTokenIn } from '#support/http.ts';
import { plainText, type ReceivedMail } from '#support/smtp.ts';
import type { Delivery } from './history.ts';

interface SignInMail {
  readonly token: string;
  readonly code: string;
  /** How many copies of it the person has in front of them. */
  readonly copies: number;
}

/** A token is `prefix + base64url(version 1 | key id 5 | subject 16 | …)`; the subject of a link is the id of its email. */
const subjectAt = { start: 6, end: 22 } as const;

/** The id of the email that belongs to a token: that of its link, or of the answer that promised it. */
export const mailIdOf = (token: string): string =>
  Buffer.from(token.slice('lk_ml_'.length), 'base64url')
    .subarray(subjectAt.start, subjectAt.end)
    .toString('base64url');

export function deliveryOf({ raw, at }: ReceivedMail): Delivery {
  const token = linkTokenIn({ text: plainText(raw) });
  const messageId = /^message-id:\s*(\S+)/im.exec(raw)?.[1] ?? raw;
  return { messageId, id: token === '' ? undefined : mailIdOf(token), at };
}

/** The email with this id, if it has arrived at this address. */
export function findMail(
  messages: readonly ReceivedMail[],
  address: string,
  id: string,
): SignInMail | undefined {
  const copies = messages
    .filter(({ to }) => to.includes(address))
    .map(({ raw }) => ({ text: plainText(raw).replaceAll('\r\n', '\n') }))
    .filter((mail) => mailIdOf(linkTokenIn(mail)) === id);
  const [mail] = copies;
  return mail && { token: linkTokenIn(mail), code: codeIn(mail), copies: copies.length };
}
