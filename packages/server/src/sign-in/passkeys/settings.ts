import type { Rules } from '../../platform/rate-limits/rules.ts';

export const passkeyLimits = {
  passkey_challenges: {
    quota: 3000,
    windowSeconds: 60,
    shared: false,
    description: 'WebAuthn challenges, by client address.',
  },
  passkey_responses: {
    quota: 1200,
    windowSeconds: 60,
    shared: false,
    description: 'Responses to WebAuthn challenges, by client address.',
  },
} as const satisfies Rules;
