// Services with rights, a resource, a reach and scopes.

import type { ServiceRight } from '@latchkey/contract/services';
import type { Context } from '../../packages/server/src/platform/context.ts';
import { createServiceKey } from '../../packages/server/src/services/service-keys/service-keys.ts';

export interface DeclaredService {
  readonly id: string;
  /** The `Authorization` header of its key. */
  readonly authorization: string;
}

export async function declareService(
  { db, ...ctx }: Context,
  {
    name = 'Tickets',
    resource = null,
    scopes = [],
    rights = [],
    reach = [],
  }: {
    readonly name?: string;
    readonly resource?: string | null;
    readonly scopes?: readonly { readonly name: string; readonly sentence: string }[];
    readonly rights?: readonly ServiceRight[];
    readonly reach?: readonly string[];
  },
): Promise<DeclaredService> {
  const { id, secret } = await createServiceKey({ db, ...ctx }, name);
  const uri = resource === null ? 'NULL' : `'${resource}'`;
  await db.single.run(
    `UPDATE service_keys SET rights = '${rights.join(' ')}', reach = '${reach.join(' ')}', resource = ${uri} WHERE id = '${id}'`,
    [],
  );
  const declared = [
    ...(resource === null ? [] : [`('resource', '${resource}', '${id}', NULL)`]),
    ...scopes.map(({ name, sentence }) => `('scope', '${name}', '${id}', '${sentence}')`),
  ];
  for (const row of declared)
    await db.single.run(`INSERT INTO declarations (kind, name, service_id, sentence) VALUES ${row}`, []);
  return { id, authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` };
}
