import { seconds } from '../../platform/config/formats.ts';
import { type ConfigOf, day, declare, maxTtlSeconds, setting } from '../../platform/config/settings.ts';

export const eventSettings = {
  eventRetentionSeconds: declare(
    'LATCHKEY_EVENT_RETENTION',
    setting(
      seconds(day, maxTtlSeconds),
      400 * day,
      'How long events stay in the security log.',
      'the law or your policy says so',
    ),
  ),
};

declare module '../../platform/config/config.ts' {
  interface Config extends ConfigOf<typeof eventSettings> {}
}
