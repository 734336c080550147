import { signupPolicy } from '../../platform/config/formats.ts';
import { setting } from '../../platform/config/settings.ts';

export const accountSettings = {
  signup: setting(
    'LATCHKEY_SIGNUP',
    signupPolicy,
    'open',
    'Who can create an account: everyone, no one, or people with an email address in one of these domains.',
  ),
};
