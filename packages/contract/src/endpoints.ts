// Every endpoint of the API, declared once. Validation, types, clients and the OpenAPI document are derived from it.

import { accountEndpoints } from './account.ts';
import { authorizeEndpoints } from './authorize.ts';
import { deviceEndpoints } from './device.ts';
import type { Declared, Endpoint } from './endpoint.ts';
import { eventEndpoints } from './events.ts';
import { feedEndpoints } from './feed.ts';
import { keyEndpoints } from './keys.ts';
import { magicLinkEndpoints } from './magic-links.ts';
import { noticeEndpoints } from './notices.ts';
import { openidEndpoints } from './openid.ts';
import { organizationEndpoints } from './organizations.ts';
import { passkeyEndpoints } from './passkeys.ts';
import { serviceEndpoints } from './services.ts';
import { sessionEndpoints } from './sessions.ts';
import { tokenEndpoints } from './tokens.ts';
import { operatorEndpoints, userEndpoints } from './users.ts';

const named = <T extends Readonly<Record<string, Declared>>>(table: T) =>
  Object.fromEntries(
    Object.entries(table).map(([id, endpoint]) => [
      id,
      { status: 200, summary: endpoint.title, errors: {}, ...endpoint, id },
    ]),
  ) as {
    readonly [Id in keyof T]: T[Id] & Pick<Endpoint, 'status' | 'summary' | 'errors'> & { readonly id: Id };
  };

export const endpoints = named({
  ...authorizeEndpoints,
  ...deviceEndpoints,
  ...tokenEndpoints,
  ...passkeyEndpoints,
  ...magicLinkEndpoints,
  ...sessionEndpoints,
  ...accountEndpoints,
  ...noticeEndpoints,
  ...eventEndpoints,
  ...keyEndpoints,
  ...openidEndpoints,
  ...organizationEndpoints,
  ...userEndpoints,
  ...operatorEndpoints,
  ...serviceEndpoints,
  ...feedEndpoints,
});
