import { seconds } from '../../platform/config/formats.ts';
import { type ConfigOf, day, declare, setting } from '../../platform/config/settings.ts';
import type { Rules } from '../../platform/rate-limits/rules.ts';

export const passkeySettings = {
  challengeTtlSeconds: declare(
    'LATCHKEY_CHALLENGE_TTL',
    setting(
      seconds(1, day),
      300,
      'Time to complete a passkey ceremony. Browsers get it as their timeout.',
      'people need longer, such as with a phone beside the computer',
    ),
  ),
};

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

declare module '../../platform/config/config.ts' {
  interface Config extends ConfigOf<typeof passkeySettings> {}
}

declare module '../../platform/rate-limits/rules.ts' {
  interface RateLimits extends Record<keyof typeof passkeyLimits, true> {}
}
