import { composeMessage } from '../../platform/mail/compose.ts';
import type { Template } from '../../platform/mail/message.ts';

export const accountDeletedTemplate = 'account_deleted';

/** The last mail to a person: there is nothing left to fill it from. */
export const accountDeletedMail: Template = async () =>
  composeMessage('Your Latchkey account has been deleted', [
    'Your Latchkey account and everything of it has been deleted: its logins, passkeys, security log and memberships. It cannot be brought back.',
    'This address can sign up again, as a new account. If it was not you who deleted the account, tell whoever runs this service, and change the password of your mailbox.',
  ]);
