import { type Rules, sharedLimit } from '../../platform/rate-limits/rules.ts';

export const noticeLimits = {
  notices: sharedLimit(
    10,
    3600,
    'Security notices, by account and kind. None is lost: a digest at the end of the window lists those beyond the quota. Applies even with `LATCHKEY_RATE_LIMITS=off`.',
  ),
} satisfies Rules;
