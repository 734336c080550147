// Every endpoint of the API, declared once. Validation, types, clients and the OpenAPI document are derived from it.

import { accountEndpoints } from './endpoints/account.ts';
import { authorizeEndpoints } from './endpoints/authorize.ts';
import { deviceEndpoints } from './endpoints/device.ts';
import { keyEndpoints } from './endpoints/keys.ts';
import { magicLinkEndpoints } from './endpoints/magic-links.ts';
import { openidEndpoints } from './endpoints/openid.ts';
import { operatorEndpoints } from './endpoints/operators.ts';
import { organizationEndpoints } from './endpoints/organizations.ts';
import { passkeyEndpoints } from './endpoints/passkeys.ts';
import { serviceEndpoints } from './endpoints/services.ts';
import { sessionEndpoints } from './endpoints/sessions.ts';
import { tokenEndpoints } from './endpoints/tokens.ts';
import { userEndpoints } from './endpoints/users.ts';

export const endpoints = {
  ...authorizeEndpoints,
  ...deviceEndpoints,
  ...tokenEndpoints,
  ...passkeyEndpoints,
  ...magicLinkEndpoints,
  ...sessionEndpoints,
  ...accountEndpoints,
  ...keyEndpoints,
  ...openidEndpoints,
  ...organizationEndpoints,
  ...userEndpoints,
  ...operatorEndpoints,
  ...serviceEndpoints,
} as const;
