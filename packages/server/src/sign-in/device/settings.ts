import { oneOf, seconds } from '../../platform/config/formats.ts';
import { day, setting } from '../../platform/config/settings.ts';
import { nodeLimit, type Rules, sharedLimit } from '../../platform/rate-limits/rules.ts';

export const deviceSettings = {
  deviceLogin: setting(
    'LATCHKEY_DEVICE_LOGIN',
    oneOf('open', 'confirm', 'off'),
    'open',
    'With `confirm`, an approval from another network needs a code that the user enters on the device. `off` disables device sign-in.',
  ),
  deviceCodeTtlSeconds: setting(
    'LATCHKEY_DEVICE_CODE_TTL',
    seconds(1, day),
    600,
    'Lifetime of a device code.',
  ),
  devicePollIntervalSeconds: setting(
    'LATCHKEY_DEVICE_POLL_INTERVAL',
    seconds(1, 300),
    5,
    'Minimum time between two polls of a device.',
  ),
};

export const deviceLimits = {
  device_authorizations: sharedLimit(30, 60, 'Device sign-ins started, by client address.'),
  device_polls: nodeLimit(600, 60, 'Polls, by device code, for clients that ignore `slow_down`.'),
  user_codes_by_user: sharedLimit(
    10,
    600,
    'Wrong user codes of devices, by account. Verifying, approving and denying count together.',
  ),
  user_codes_by_client: sharedLimit(30, 600, 'Wrong user codes of devices, by client address.'),
} satisfies Rules;
