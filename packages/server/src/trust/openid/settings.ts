import { audiences } from '../../platform/config/formats.ts';
import { setting } from '../../platform/config/settings.ts';

export const identitySettings = {
  identityAudiences: setting(
    'LATCHKEY_IDENTITY_AUDIENCES',
    audiences,
    '',
    'Whom the identity tokens of runs may be for, as the other system expects it in `aud`.',
    'a cloud or another system trusts this service as an OpenID Connect issuer',
  ),
};
