import { browserName } from '@latchkey/contract/browser-name';
import { formatCode } from '@latchkey/contract/codes';
import { writeUnits } from '@latchkey/contract/time-format';
import { findAccountOf } from '../../identity/account/account.ts';
import { emailCodeFromMac } from '../../platform/crypto/codes.ts';
import { mintHandle } from '../../platform/crypto/handle.ts';
import type { ServerKey } from '../../platform/crypto/primitives.ts';
import type { Tables } from '../../platform/database/schema.ts';
import { composeMessage, type Fact, type Writer, writerFor } from '../../platform/mail/compose.ts';
import type { Message, Template } from '../../platform/mail/message.ts';
import * as store from './store.ts';

export const signInTemplate = 'sign_in';

/** The code of a sign-in mail. Only the server can compute it: the link does not reveal it. */
export const emailCodeOf = (key: ServerKey, linkId: string): string =>
  emailCodeFromMac(key.mac('email code', Buffer.from(linkId, 'base64url')));

/** Who requested a mail, when, and until when its link works. */
type MailRequest = Pick<Tables['magic_links'], 'created_at' | 'expires_at' | 'ip_address' | 'user_agent'>;

/**
 * The program is named only if it is a known browser, and in our words: anyone can have a mail sent to any address, and
 * must not get to write in it.
 */
const factsOf = (
  { texts: { signIn }, when }: Writer,
  { created_at, ip_address, user_agent }: MailRequest,
): Fact[] => {
  const browser = browserName(user_agent ?? '', signIn.browserOn);
  return [
    { label: signIn.requested, value: when(created_at) },
    ...(browser === undefined ? [] : [{ label: signIn.browser, value: browser }]),
    ...(ip_address === null ? [] : [{ label: signIn.ipAddress, value: ip_address }]),
  ];
};

/** Composes a sign-in mail. Its plain text has the link and the code each on a line of their own. */
function signInMessage(writer: Writer, link: string, code: string, request: MailRequest): Message {
  const { fill, language, texts } = writer;
  const { openLink, enterCode, once, notYou, preheader } = texts.signIn;
  const action = fill(texts.signIn.subject);
  const duration = writeUnits(
    language,
    Math.max(1, Math.round((request.expires_at - request.created_at) / 60_000)),
    'minute',
  );
  return composeMessage(
    writer,
    // So that a notification shows it.
    fill(texts.labelled, { label: action, value: code }),
    [
      fill(openLink),
      { link, words: action },
      enterCode,
      { code },
      fill(once, { duration }),
      { facts: factsOf(writer, request) },
      notYou,
    ],
    fill(preheader, { duration }),
  );
}

/** Computes link and code when the mail is sent, so that neither is stored. A second attempt to send has the same ones. */
export const signInMail: Template = async (ctx, mail) => {
  const [row] = await store.findMagicLink(ctx.db.read, { id: mail.reference });
  if (!row) return undefined;
  const subject = Buffer.from(row.id, 'base64url');
  const token = mintHandle(ctx.keys, 'magicLink', { subject, value: row.expires_at });
  const reader = await findAccountOf(ctx.db.read, row.email);
  return signInMessage(
    writerFor(ctx.config.product, {
      locale: reader?.locale ?? row.language,
      time_zone: reader?.time_zone ?? null,
    }),
    `${ctx.config.baseUrl}/magic-link#token=${token}`,
    formatCode(emailCodeOf(ctx.keys.signing, row.id)),
    row,
  );
};
