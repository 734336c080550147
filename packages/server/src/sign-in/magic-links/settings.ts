import { count, seconds } from '../../platform/config/formats.ts';
import { type ConfigOf, day, declare, setting } from '../../platform/config/settings.ts';
import type { Rules } from '../../platform/rate-limits/rules.ts';

/** Attempts at one emailed code. */
const maxCodeAttempts = 100;

export const magicLinkSettings = {
  magicLinkTtlSeconds: declare(
    'LATCHKEY_MAGIC_LINK_TTL',
    setting(
      seconds(1, day),
      900,
      'Lifetime of a magic link and of the code in the same email.',
      'emails arrive late',
    ),
  ),
  emailCodeTries: declare(
    'LATCHKEY_EMAIL_CODE_TRIES',
    setting(
      count(maxCodeAttempts),
      5,
      'Wrong attempts before an emailed code stops working. The magic link in the same email stays valid.',
      'your policy says so',
    ),
  ),
};

export const magicLinkLimits = {
  email_codes_by_client: {
    quota: 120,
    windowSeconds: 600,
    shared: true,
    description:
      'Wrong email codes, by client address. Each code also has its own maximum of attempts (`LATCHKEY_EMAIL_CODE_TRIES`).',
  },
} as const satisfies Rules;

declare module '../../platform/config/config.ts' {
  interface Config extends ConfigOf<typeof magicLinkSettings> {}
}

declare module '../../platform/rate-limits/rules.ts' {
  interface RateLimits extends Record<keyof typeof magicLinkLimits, true> {}
}
