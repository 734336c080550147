import type { Rules } from '../../platform/rate-limits/rules.ts';

export const authorizeLimits = {
  authorizations: {
    quota: 300,
    windowSeconds: 60,
    shared: true,
    description: 'Approved authorization requests, by account.',
  },
} as const satisfies Rules;
