import { seconds } from '../platform/config/formats.ts';
import { day, maxTtlSeconds, setting } from '../platform/config/settings.ts';
import { type Rules, sharedLimit } from '../platform/rate-limits/limiter.ts';

export const logSettings = {
  eventRetentionSeconds: setting(
    'LATCHKEY_EVENT_RETENTION',
    seconds(day, maxTtlSeconds),
    400 * day,
    'How long events stay in the security log.',
  ),
};

export const logLimits = {
  notices: sharedLimit(
    10,
    3600,
    'Security notices, by account and kind. None is lost: a digest at the end of the window lists those beyond the quota. Applies even with `LATCHKEY_RATE_LIMITS=off`.',
  ),
} satisfies Rules;
