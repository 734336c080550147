import { issuers } from '../../platform/config/formats.ts';
import { setting } from '../../platform/config/settings.ts';

export const federationSettings = {
  trustedIssuers: setting(
    'LATCHKEY_TRUSTED_ISSUERS',
    issuers,
    '',
    'OpenID Connect issuers whose tokens keys may trust, so that jobs need no secret. A loopback host needs a loopback base URL.',
  ),
};
