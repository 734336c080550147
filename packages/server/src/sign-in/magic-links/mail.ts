import { browserName } from '@latchkey/contract/browser-name';
import { formatCode } from '@latchkey/contract/codes';
import type { Product } from '../../platform/config/product.ts';
import { codeFromMac } from '../../platform/crypto/codes.ts';
import { mintHandle } from '../../platform/crypto/handle.ts';
import type { ServerKey } from '../../platform/crypto/key-ring.ts';
import { composeMessage, type Fact, timesFor } from '../../platform/mail/compose.ts';
import type { Message, Template } from '../../platform/mail/message.ts';
import * as store from './store.ts';

export const signInTemplate = 'sign_in';

/** The code of a sign-in mail. Only the server can compute it: the link does not reveal it. */
export const emailCodeOf = (key: ServerKey, linkId: string): string =>
  codeFromMac(key.mac('email code', Buffer.from(linkId, 'base64url')));

const minutes = (seconds: number): string => {
  const count = Math.max(1, Math.round(seconds / 60));
  return count === 1 ? '1 minute' : `${count} minutes`;
};

/** Who requested a mail, and when. */
interface MailRequest {
  readonly time: number;
  readonly ipAddress: string | null;
  readonly userAgent: string | null;
}

/**
 * The program is named only if it is a known browser, and in our words: anyone can have a mail sent to any address, and
 * must not get to write in it.
 */
const factsOf = ({ time, ipAddress, userAgent }: MailRequest): Fact[] => {
  const browser = browserName(userAgent ?? '');
  return [
    { label: 'Requested', value: timesFor(undefined)(time) },
    ...(browser === undefined ? [] : [{ label: 'Browser', value: browser }]),
    ...(ipAddress === null ? [] : [{ label: 'IP address', value: ipAddress }]),
  ];
};

/** Composes a sign-in mail. Its plain text has the link and the code each on a line of their own. */
export const signInMessage = (
  product: Product,
  link: string,
  code: string,
  ttlSeconds: number,
  request: MailRequest,
): Message =>
  composeMessage(
    product,
    `Sign in to ${product.name}`,
    [
      `Open this link to sign in to ${product.name}:`,
      { link, words: `Sign in to ${product.name}` },
      'Or enter this code where you started signing in:',
      { code },
      `Use either one, once, within ${minutes(ttlSeconds)}. Never share the link or the code with anyone.`,
      { facts: factsOf(request) },
      "If you didn't request this email, you can ignore it.",
    ],
    `Your link and code work once, within ${minutes(ttlSeconds)}.`,
  );

/** Computes link and code when the mail is sent, so that neither is stored. A second attempt to send has the same ones. */
export const signInMail: Template = async (ctx, mail) => {
  const [row] = await store.findMagicLink(ctx.db.read, { id: mail.reference });
  if (!row) return undefined;
  const subject = Buffer.from(row.id, 'base64url');
  const token = mintHandle(ctx.keys, 'magicLink', { subject, value: row.expires_at });
  return signInMessage(
    ctx.config.product,
    `${ctx.config.baseUrl}/magic-link#token=${token}`,
    formatCode(emailCodeOf(ctx.keys.signing, row.id)),
    (row.expires_at - row.created_at) / 1000,
    { time: row.created_at, ipAddress: row.ip_address, userAgent: row.user_agent },
  );
};
