import { oneOf } from '../../platform/config/formats.ts';
import { setting } from '../../platform/config/settings.ts';
import type { Rules } from '../../platform/rate-limits/rules.ts';

export const passkeySettings = {
  approval: setting(
    'LATCHKEY_APPROVAL',
    oneOf('passkey', 'recent'),
    'passkey',
    'What approving a device or an application and creating a key take where the account has a passkey: with `passkey`, that passkey confirms each of them; with `recent`, a recent sign-in is enough.',
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
