import { oneOf } from '../../platform/config/formats.ts';
import { setting } from '../../platform/config/settings.ts';
import { nodeLimit, type Rules } from '../../platform/rate-limits/rules.ts';

export const passkeySettings = {
  approval: setting(
    'LATCHKEY_APPROVAL',
    oneOf('passkey', 'recent'),
    'passkey',
    'What approving a device or an application and creating a key take where the account has a passkey: with `passkey`, that passkey confirms each of them; with `recent`, a recent sign-in is enough.',
  ),
};

export const passkeyLimits = {
  passkey_challenges: nodeLimit(3000, 60, 'WebAuthn challenges, by client address.'),
  passkey_responses: nodeLimit(1200, 60, 'Responses to WebAuthn challenges, by client address.'),
} satisfies Rules;
