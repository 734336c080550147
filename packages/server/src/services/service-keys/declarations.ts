// A scope or resource belongs to one service for ever: people approved it for that service.

import type { Context } from '../../platform/context.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { conflict } from '../../platform/errors.ts';
import { spellingsOf } from '../../platform/values/resource.ts';
import type { Registration } from './registration.ts';
import * as store from './store.ts';

type Declared = Pick<Partial<Registration>, 'resource' | 'scopes'>;

/** The names as the statements take them. */
const namesOf = ({ scopes = [], resource }: Declared) => ({
  scopes: JSON.stringify(scopes.map(({ name }) => name)),
  resource: resource ? spellingsOf(resource)[0] : '',
});

/**
 * Declares these names for a service, after the service is stored or locked. A part that is undefined stays unchanged; names missing
 * from the other parts are withdrawn, and the service can declare them again.
 * @throws {AuthError} `conflict` if one of the names belongs to another service, active or revoked
 */
export async function declareNames(
  ctx: Context,
  tx: Executor,
  serviceId: string,
  declared: Declared,
): Promise<void> {
  const { resource, scopes } = declared;
  await store.lockDeclarations(tx, { ...namesOf(declared), service_id: serviceId });
  const resources = resource ? [spellingsOf(resource)[0]] : [];
  const withdrawn = { service_id: serviceId, now: ctx.clock() };
  if (resource !== undefined)
    await store.withdrawDeclarations(tx, {
      ...withdrawn,
      kind: 'resource',
      except: JSON.stringify(resources),
    });
  if (scopes)
    await store.withdrawDeclarations(tx, { ...withdrawn, kind: 'scope', except: namesOf({ scopes }).scopes });
  const wanted = [
    ...resources.map((name) => ({ kind: 'resource' as const, name, sentence: null })),
    // In one order everywhere, so that two services that declare the same new names do not wait for each other.
    ...(scopes ?? [])
      .map((scope) => ({ kind: 'scope' as const, ...scope }))
      .toSorted((one, other) => (one.name < other.name ? -1 : 1)),
  ];
  for (const declaration of wanted) {
    const [isDeclared] = await store.declare(tx, { ...declaration, service_id: serviceId });
    if (isDeclared) continue;
    const { kind, name } = declaration;
    const [owner] = await store.findOwner(tx, { kind, name });
    const state = owner?.revoked_at == null ? '' : ', which is revoked';
    throw conflict(`The ${kind} ${name} belongs to ${owner?.name} (${owner?.id})${state}.`);
  }
}

/** Withdraws all declarations of a service. */
export const withdrawAll = (ctx: Context, tx: Executor, serviceId: string): Promise<void> =>
  declareNames(ctx, tx, serviceId, { resource: null, scopes: [] });
