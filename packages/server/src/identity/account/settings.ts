import { signupPolicy } from '../../platform/config/formats.ts';
import { setting } from '../../platform/config/settings.ts';
import type { Rules } from '../../platform/rate-limits/rules.ts';

export const accountSettings = {
  signup: setting(
    'LATCHKEY_SIGNUP',
    signupPolicy,
    'open',
    'Who can create an account: everyone, no one, or people with an email address in one of these domains.',
  ),
};

export const accountLimits = {
  account_changes: {
    quota: 60,
    windowSeconds: 60,
    shared: true,
    description: 'Changes to the profile, to names of passkeys and to keys, by account.',
  },
} as const satisfies Rules;
