import type { Product } from '../../platform/config/product.ts';
import { mintHandle } from '../../platform/crypto/handle.ts';
import { composeMessage, timesFor } from '../../platform/mail/compose.ts';
import type { Template } from '../../platform/mail/message.ts';
import { writerFor } from '../../platform/mail/writer.ts';
import { findReader } from '../../security-log/notices/notices.ts';
import { isEmailTaken } from '../account/account.ts';
import * as store from './store.ts';

export const emailChangeTemplate = 'email_change';
export const emailRestoredTemplate = 'email_restored';
export const emailReturnedTemplate = 'email_returned';

const inEnglish = (product: Product) => ({ product, language: 'en' }) as const;

/**
 * The mail to a new address. Whether another account has the address is checked only here, so that the response to the
 * request does not depend on it; if one has, the mail holds no link. It quotes nothing from the account, not even its time
 * zone or its language, because it may reach a stranger.
 */
export const emailChangeMail: Template = async (ctx, mail) => {
  const [change] = await store.findChange(ctx.db.read, { id: mail.reference });
  if (!change) return undefined;
  const { baseUrl, product } = ctx.config;
  if (await isEmailTaken(ctx, ctx.db.read, change.new_email, change.user_id)) {
    return composeMessage(inEnglish(product), 'Someone tried to use your email address', [
      `Someone who is signed in to another ${product.name} account asked to use this email address for it.`,
      'You have an account with this address, or had one until recently, so nothing has changed.',
      "If it was you, sign in to the account that has this address and change it there first. If it wasn't, you don't need to do anything.",
    ]);
  }
  const subject = Buffer.from(change.id, 'base64url');
  const token = mintHandle(ctx.keys, 'emailChange', { subject, value: change.expires_at });
  return composeMessage(inEnglish(product), `Confirm your new address for ${product.name}`, [
    `Someone asked to use this email address for their ${product.name} account. If it was you, open this link and confirm. In a browser where you aren't signed in, you also need your current address:`,
    { link: `${baseUrl}/verify-email#token=${token}`, words: 'Use this address' },
    `The link works once and expires at ${timesFor(undefined)(change.expires_at)}. After you confirm, sign-in emails go to this address.`,
    "If it wasn't you, ignore this email. Nothing changes unless someone uses the link.",
  ]);
};

/** The mail to an address that an undo removed from an account: in English, since a stranger may have it. */
export const emailRestoredMail: Template = async ({ config: { product } }) =>
  composeMessage(inEnglish(product), `This address was removed from an account at ${product.name}`, [
    `The owner of the previous address told us that they didn't change it to this one. Their ${product.name} account has its previous address again, and all its sessions have ended.`,
    'If you are the owner, sign in with the previous address. You can change it again from there.',
  ]);

/** The mail to an address that the account left for an earlier one of its own. It has no undo link. */
export const emailReturnedMail: Template = async ({ config: { product }, db }, mail) => {
  const [change] = await store.findChange(db.read, { id: mail.reference });
  const writer = writerFor(product, change && (await findReader(db.read, change.user_id)));
  const { subject, what, owner } = writer.texts.emailReturned;
  return composeMessage(writer, writer.fill(subject), [writer.fill(what), owner]);
};
