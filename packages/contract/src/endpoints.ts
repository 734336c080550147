// Every endpoint of the API, declared once. Validation, types, clients and the OpenAPI document are derived from it.

import type { Declared, Endpoint } from './endpoint.ts';
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

const named = <T extends Readonly<Record<string, Declared>>>(table: T) =>
  Object.fromEntries(
    Object.entries(table).map(([id, endpoint]) => [id, { status: 200, errors: {}, ...endpoint, id }]),
  ) as {
    readonly [Id in keyof T]: T[Id] & Pick<Endpoint, 'status' | 'errors'> & { readonly id: Id };
  };

export const endpoints = named({
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
});
