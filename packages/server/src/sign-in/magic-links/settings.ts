import { seconds } from '../../platform/config/formats.ts';
import { day, setting } from '../../platform/config/settings.ts';
import { type Rules, sharedLimit } from '../../platform/rate-limits/rules.ts';

/** Wrong attempts before an emailed code stops working. The magic link in the same email stays valid. */
export const maxCodeAttempts = 5;

export const magicLinkSettings = {
  magicLinkTtlSeconds: setting(
    'LATCHKEY_MAGIC_LINK_TTL',
    seconds(1, day),
    900,
    'Lifetime of a magic link and of the code in the same email.',
  ),
};

export const magicLinkLimits = {
  email_codes_by_client: sharedLimit(
    120,
    600,
    `Wrong email codes, by client address. Each code also stops working after ${maxCodeAttempts}.`,
  ),
} satisfies Rules;
