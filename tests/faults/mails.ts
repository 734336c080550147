// Emails as a mail server received them: which promised email it is, its link and its code.

import { plainText, type ReceivedMail } from '#support/smtp.ts';
import type { Delivery } from './history.ts';

export interface SignInMail {
  readonly id: string;
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

const linkTokenIn = (text: string): string | undefined => /#token=(lk_ml_[\w-]+)/.exec(text)?.[1];

export function deliveryOf({ raw, at }: ReceivedMail): Delivery {
  const token = linkTokenIn(plainText(raw));
  return {
    messageId: /^message-id:\s*(\S+)/im.exec(raw)?.[1] ?? raw,
    id: token === undefined ? undefined : mailIdOf(token),
    at,
  };
}

/** The email with this id, if it has arrived at this address. */
export function findMail(
  messages: readonly ReceivedMail[],
  address: string,
  id: string,
): SignInMail | undefined {
  const arrived = messages.filter(({ to }) => to.includes(address)).map(({ raw }) => plainText(raw));
  const copies = arrived.filter((text) => {
    const token = linkTokenIn(text);
    return token !== undefined && mailIdOf(token) === id;
  });
  const [text] = copies;
  if (text === undefined) return undefined;
  const code = /^(\d{4}-\d{4})\r?$/m.exec(text)?.[1] ?? '';
  return { id, token: linkTokenIn(text)!, code, copies: copies.length };
}
