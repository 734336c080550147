import type { Rules } from '../../platform/rate-limits/rules.ts';

export const noticeLimits = {
  notices: {
    quota: 10,
    windowSeconds: 3600,
    shared: true,
    description:
      'Security notices, by account and kind. None is lost: a digest at the end of the window lists those beyond the quota. Applies even with `LATCHKEY_RATE_LIMITS=off`.',
  },
} as const satisfies Rules;
