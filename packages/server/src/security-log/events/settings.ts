import { seconds } from '../../platform/config/formats.ts';
import { day, maxTtlSeconds, setting } from '../../platform/config/settings.ts';

export const eventSettings = {
  eventRetentionSeconds: setting(
    'LATCHKEY_EVENT_RETENTION',
    seconds(day, maxTtlSeconds),
    400 * day,
    'How long events stay in the security log.',
  ),
};
