// Services that declare scopes and a resource.

import type { ServiceRight } from '@latchkey/contract/services';
import type { Context } from '../../packages/server/src/platform/context.ts';
import { createServiceKey } from '../../packages/server/src/services/service-keys/service-keys.ts';

interface Declared {
  readonly name?: string;
  /** Each with its sentence for people. */
  readonly scopes?: readonly { readonly name: string; readonly sentence: string }[];
  readonly resource?: string;
  readonly rights?: readonly ServiceRight[];
}

/** Creates a service; returns its id and the `Authorization` header with its key. */
export async function declareService(
  ctx: Context,
  { name = 'Tickets', scopes = [], resource, rights = [] }: Declared = {},
): Promise<{ readonly id: string; readonly authorization: string }> {
  const { id, secret } = await createServiceKey(ctx, name);
  const set = resource === undefined ? '' : `, resource = '${resource}'`;
  await ctx.db.single.run(
    `UPDATE service_keys SET rights = '${rights.join(' ')}'${set} WHERE id = '${id}'`,
    [],
  );
  const rows = [
    ...scopes.map((scope) => `('scope', '${scope.name}', '${id}', '${scope.sentence}')`),
    ...(resource === undefined ? [] : [`('resource', '${resource}', '${id}', NULL)`]),
  ];
  if (rows.length > 0)
    await ctx.db.single.run(
      `INSERT INTO declarations (kind, name, service_id, sentence) VALUES ${rows.join(', ')}`,
      [],
    );
  return { id, authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` };
}
