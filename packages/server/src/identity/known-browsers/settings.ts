import { type Rules, sharedLimit } from '../../platform/rate-limits/rules.ts';

export const requestedMailLimits = {
  mails_by_pair: sharedLimit(5, 900, 'Requested emails, by recipient and network of the client.'),
  mails_by_recipient: sharedLimit(20, 3600, 'Requested emails, by recipient.'),
  mails_by_client: sharedLimit(30, 3600, 'Requested emails, by client address.'),
  mails_by_known_browser: sharedLimit(
    5,
    900,
    'Requested emails, by recipient and browser. Replaces the three limits above if the browser signed in to that address before.',
  ),
} satisfies Rules;
