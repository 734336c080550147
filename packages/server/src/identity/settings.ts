import { signupPolicy } from '../platform/config/formats.ts';
import { setting } from '../platform/config/settings.ts';
import { nodeLimit, type Rules, sharedLimit } from '../platform/rate-limits/limiter.ts';

export const identitySettings = {
  signup: setting(
    'LATCHKEY_SIGNUP',
    signupPolicy,
    'open',
    'Who can create an account: everyone, no one, or people with an email address in one of these domains.',
  ),
};

export const identityLimits = {
  mails_by_pair: sharedLimit(5, 900, 'Requested emails, by recipient and network of the client.'),
  mails_by_recipient: sharedLimit(20, 3600, 'Requested emails, by recipient.'),
  mails_by_client: sharedLimit(30, 3600, 'Requested emails, by client address.'),
  mails_by_known_browser: sharedLimit(
    5,
    900,
    'Requested emails, by recipient and browser that signed in to it before. Replaces the three limits above.',
  ),
  mails_from_known_browsers: sharedLimit(
    20,
    3600,
    'Requested emails of all such browsers together, by recipient.',
  ),
  email_changes: sharedLimit(
    10,
    3600,
    'Requested email changes, by account. Their emails also count as requested emails.',
  ),
  link_logins: nodeLimit(
    600,
    60,
    'Links of sign-ins and email changes, by client address. Forged links do not count.',
  ),
} satisfies Rules;
