import type { Rules } from '../../platform/rate-limits/rules.ts';

export const requestedMailLimits = {
  mails_by_pair: {
    quota: 5,
    windowSeconds: 900,
    shared: true,
    description: 'Requested emails, by recipient and network of the client.',
  },
  mails_by_recipient: {
    quota: 20,
    windowSeconds: 3600,
    shared: true,
    description: 'Requested emails, by recipient.',
  },
  mails_by_client: {
    quota: 30,
    windowSeconds: 3600,
    shared: true,
    description: 'Requested emails, by client address.',
  },
  mails_by_known_browser: {
    quota: 5,
    windowSeconds: 900,
    shared: true,
    description:
      'Requested emails, by recipient and browser. Replaces the three limits above if the browser signed in to that address before.',
  },
} as const satisfies Rules;
