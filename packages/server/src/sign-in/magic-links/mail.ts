import { formatCode } from '@latchkey/contract/codes';
import { codeFromMac } from '../../platform/crypto/codes.ts';
import { mintHandle } from '../../platform/crypto/handle.ts';
import type { ServerKey } from '../../platform/crypto/key-ring.ts';
import { composeMessage } from '../../platform/mail/compose.ts';
import type { Message, Template } from '../../platform/mail/message.ts';
import * as store from './store.ts';

export const signInTemplate = 'sign_in';

/** The code of a mail, which only the server can compute: nothing in the link leads to it. */
export const emailCodeOf = (key: ServerKey, linkId: string): string =>
  codeFromMac(key.mac('email code', Buffer.from(linkId, 'base64url')));

const minutes = (seconds: number): string => {
  const count = Math.max(1, Math.round(seconds / 60));
  return count === 1 ? '1 minute' : `${count} minutes`;
};

/** The words of a sign-in mail. In the text the link and the code each stand alone on a line. */
export const signInMessage = (link: string, code: string, lifeSeconds: number): Message =>
  composeMessage('Sign in to Latchkey', [
    'Open this link to sign in:',
    { link, words: 'Sign in to Latchkey' },
    'Or type this code on the screen that asked for it:',
    { code },
    `Both work once, within ${minutes(lifeSeconds)}. If you did not ask for this mail, you can ignore it: nothing happens unless somebody uses it. Never tell the code to anyone.`,
  ]);

/** Makes link and code at the moment of sending; the same again if the mail has to be sent again. */
export const signInMail: Template = async (ctx, mail) => {
  const [row] = await store.findMagicLink(ctx.db.read, { id: mail.reference });
  if (!row) return undefined;
  const subject = Buffer.from(row.id, 'base64url');
  const token = mintHandle(ctx.keys, 'magicLink', { subject, value: row.expires_at });
  return signInMessage(
    `${ctx.config.baseUrl}/magic-link#token=${token}`,
    formatCode(emailCodeOf(ctx.keys.signing, row.id)),
    (row.expires_at - row.created_at) / 1000,
  );
};
