import { mintHandle } from '../../platform/crypto/handle.ts';
import { composeMessage, utcMinute } from '../../platform/mail/compose.ts';
import type { Template } from '../../platform/mail/message.ts';
import { isEmailTaken } from '../account/account.ts';
import * as store from './store.ts';

export const emailChangeTemplate = 'email_change';
export const emailRestoredTemplate = 'email_restored';
export const emailReturnedTemplate = 'email_returned';

/**
 * The mail to a new address. It looks only now whether another account has the address, so that asking takes as
 * long and says as much either way; then it holds no link. No words of the account's owner are in it, since it
 * may go to a stranger.
 */
export const emailChangeMail: Template = async (ctx, mail) => {
  const [change] = await store.findChange(ctx.db.read, { id: mail.reference });
  if (!change) return undefined;
  if (await isEmailTaken(ctx, ctx.db.read, change.new_email, change.user_id)) {
    return composeMessage('Somebody asked for your address', [
      'Somebody who is signed in to another Latchkey account asked to use this mail address for it.',
      'You have an account with this address already, or had one until lately, so nothing was changed, and nothing will be.',
      'If it was you, sign in to the account that has the address and change it there first. If not, there is nothing to do.',
    ]);
  }
  const subject = Buffer.from(change.id, 'base64url');
  const token = mintHandle(ctx.keys, 'emailChange', { subject, value: change.expires_at });
  return composeMessage('Confirm your new address for Latchkey', [
    'Somebody asked to use this mail address for their Latchkey account. If that was you, open this link and press the button there. In a browser where you are not signed in, have your current address ready:',
    { link: `${ctx.config.baseUrl}/verify-email#token=${token}`, words: 'Use this address' },
    `It works once, until ${utcMinute(change.expires_at)}. From then on sign-in mails come here.`,
    'If it was not you, ignore this mail: nothing happens unless somebody uses the link.',
  ]);
};

/** The mail to an address that an undo took away again. */
export const emailRestoredMail: Template = async () =>
  composeMessage('This address was removed from a Latchkey account', [
    'The owner of the former address said that changing it to this one was not them. The former address is back, and every login of the account has ended.',
    'If you are the owner, sign in with the former address, and change it again if you want to.',
  ]);

/** The mail to an address that the account left for an earlier one of its own. It has no undo link. */
export const emailReturnedMail: Template = async () =>
  composeMessage('This address is no longer that of a Latchkey account', [
    'The account uses an address again that it had before this one. Sign-in mails and notices no longer come to this address.',
    'If you are the owner, sign in with the earlier address, and change it again if you want to.',
  ]);
