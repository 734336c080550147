import { composeMessage } from '../../platform/mail/compose.ts';
import type { Template } from '../../platform/mail/message.ts';

export const accountDeletedTemplate = 'account_deleted';

/** The last mail to a deleted account. It names nothing, since there is no row left to fill it from. */
export const accountDeletedMail: Template = async ({ config: { product } }) =>
  composeMessage(product, `Your ${product.name} account has been deleted`, [
    `Your ${product.name} account has been deleted, with its sessions, passkeys, security log and memberships. It cannot be restored.`,
    'You can sign up again with this address; that creates a new account. If you did not delete the account, contact the administrator of this service and change the password of your mailbox.',
  ]);
