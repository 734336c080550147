import { oneOf, seconds } from '../platform/config/formats.ts';
import { day, setting } from '../platform/config/settings.ts';
import { nodeLimit, type Rules, sharedLimit } from '../platform/rate-limits/limiter.ts';

/** Wrong attempts before an emailed code stops working. The magic link in the same email stays valid. */
export const maxCodeAttempts = 5;

export const signInSettings = {
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
  magicLinkTtlSeconds: setting(
    'LATCHKEY_MAGIC_LINK_TTL',
    seconds(1, day),
    900,
    'Lifetime of a magic link and of the code in the same email.',
  ),
  approval: setting(
    'LATCHKEY_APPROVAL',
    oneOf('passkey', 'recent'),
    'passkey',
    'What approving a device or an application and creating a key take where the account has a passkey: with `passkey`, that passkey confirms each of them; with `recent`, a recent sign-in is enough.',
  ),
};

export const signInLimits = {
  device_authorizations: sharedLimit(30, 60, 'Device sign-ins started, by client address.'),
  device_polls: nodeLimit(600, 60, 'Polls, by device code, for clients that ignore `slow_down`.'),
  user_codes_by_user: sharedLimit(
    10,
    600,
    'Wrong user codes of devices, by account. Verifying, approving and denying count together.',
  ),
  user_codes_by_client: sharedLimit(30, 600, 'Wrong user codes of devices, by client address.'),
  authorizations: sharedLimit(300, 60, 'Approved authorization requests, by account.'),
  email_codes_by_client: sharedLimit(
    120,
    600,
    `Wrong email codes, by client address. Each code also stops working after ${maxCodeAttempts}.`,
  ),
  passkey_challenges: nodeLimit(3000, 60, 'WebAuthn challenges, by client address.'),
  passkey_responses: nodeLimit(1200, 60, 'Responses to WebAuthn challenges, by client address.'),
} satisfies Rules;
