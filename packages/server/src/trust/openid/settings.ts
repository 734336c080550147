import { audiences } from '../../platform/config/formats.ts';
import { setting } from '../../platform/config/settings.ts';

export const identitySettings = {
  identityAudiences: setting(
    'LATCHKEY_IDENTITY_AUDIENCES',
    audiences,
    '',
    'Systems that accept identity tokens of runs, as they expect it in `aud`.',
  ),
};
