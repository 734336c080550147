import type { Rules } from '../../platform/rate-limits/rules.ts';

export const emailChangeLimits = {
  email_changes: {
    quota: 10,
    windowSeconds: 3600,
    shared: true,
    description: 'Requested email changes, by account. Their emails also count as requested emails.',
  },
  link_logins: {
    quota: 600,
    windowSeconds: 60,
    shared: false,
    description: 'Links of sign-ins and email changes, by client address. Forged links do not count.',
  },
} as const satisfies Rules;
