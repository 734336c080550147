import type { Rules } from '../../platform/rate-limits/rules.ts';

export const serviceTokenLimits = {
  service_tokens: {
    quota: 1200,
    windowSeconds: 60,
    shared: true,
    description: 'Tokens of services that act for no user, by service.',
  },
} as const satisfies Rules;
