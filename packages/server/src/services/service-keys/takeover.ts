// A name that one service declared may be declared by another once the first has withdrawn it or is revoked. Tokens that
// hold the name were approved for the first, so they end in the transaction that gives the name to the second.

import type { Context } from '../../platform/context.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { lockAccountRows } from '../../platform/database/locks.ts';
import { Raced, untilDone } from '../../platform/database/races.ts';
import { type AuthError, conflict } from '../../platform/errors.ts';
import { spellingsOf } from '../../platform/values/resource.ts';
import type { Registration } from './registration.ts';
import * as store from './store.ts';

/** The names that a service takes over from others, as JSON arrays. */
export type InheritedAccess = { readonly scopes: string; readonly resources: string };

/** Ends what holds a scope or resource. Composed above this layer, because sessions and devices are. */
export interface AccessEnding {
  /** Up to `limit` accounts that have something to end. */
  listHolders(ctx: Context, tx: Executor, access: InheritedAccess, limit: number): Promise<readonly string[]>;
  /** Ends everything of these locked accounts, whose ids are a JSON array, that holds the access, and the device requests that wait for approval. */
  endAccess(ctx: Context, tx: Executor, access: InheritedAccess, userIds: string): Promise<void>;
}

type Declared = Pick<Partial<Registration>, 'resource' | 'scopes'>;

/** How many accounts are locked in one transaction. */
const batchSize = 100;

/** The names as the statements take them. */
const namesOf = ({ scopes = [], resource }: Declared) => ({
  scopes: JSON.stringify(scopes.map(({ name }) => name)),
  resource: resource ? spellingsOf(resource)[0] : '',
});

/**
 * Declares these names for a service, in one transaction with `writeService`, which stores or locks the service. A part
 * that is undefined stays unchanged; names missing from the other parts are withdrawn.
 *
 * Up to 100 accounts that hold a name of another service lose it in that transaction. If there are more, the others lose
 * it before, in batches: the name is already withdrawn, so none can be added. If that is interrupted, declaring the names
 * again continues.
 * @throws {AuthError} `conflict` if another service declares one of the names, and what `writeService` throws
 */
export async function declaring(
  ctx: Context,
  serviceId: string,
  declared: Declared,
  ending: AccessEnding,
  writeService: (tx: Executor) => Promise<void>,
): Promise<void> {
  const names = namesOf(declared);
  // Accounts are locked before the declarations, as wherever a token with a declared name is made.
  await untilDone(ctx.db, 'scopes and resources kept changing hands', async (tx) => {
    const listHolders = async (access: InheritedAccess | undefined) =>
      access ? ending.listHolders(ctx, tx, access, batchSize + 1) : [];

    const found = await listHolders(inheritedFrom(await store.findDeclarations(tx, names), serviceId));
    const isLast = found.length <= batchSize;
    const accounts = await lockAccountRows(tx, { ids: JSON.stringify(found.slice(0, batchSize)) });
    const userIds = accounts.map(({ id }) => id);

    if (isLast) await writeService(tx);
    const existing = await store.lockDeclarations(tx, { ...names, service_id: serviceId });
    const taken = existing.find(
      ({ service_id, withdrawn_at }) => service_id !== serviceId && withdrawn_at === null,
    );
    if (taken) throw await declaredElsewhere(tx, taken);
    const inherited = inheritedFrom(existing, serviceId);
    if (isLast) {
      if ((await listHolders(inherited)).some((id) => !userIds.includes(id))) throw new Raced();
      await replaceDeclarations(ctx, tx, serviceId, declared);
    }
    if (inherited) await ending.endAccess(ctx, tx, inherited, JSON.stringify(userIds));
    return isLast ? 'done' : 'more';
  });
}

type Declaration = Awaited<ReturnType<typeof store.findDeclarations>>[number];

function inheritedFrom(declarations: readonly Declaration[], serviceId: string): InheritedAccess | undefined {
  const others = declarations.filter(({ service_id }) => service_id !== serviceId);
  const named = (wanted: Declaration['kind']) =>
    others.filter(({ kind }) => kind === wanted).map(({ name }) => name);
  if (others.length === 0) return undefined;
  const resources = named('resource').flatMap(spellingsOf);
  return { scopes: JSON.stringify(named('scope')), resources: JSON.stringify(resources) };
}

async function declaredElsewhere(
  tx: Executor,
  { kind, name }: Pick<Declaration, 'kind' | 'name'>,
): Promise<AuthError> {
  const names = { scopes: JSON.stringify([name]), resource: name };
  const owner = (await store.findDeclarations(tx, names)).find((declaration) => declaration.kind === kind);
  return conflict(
    `The ${kind} ${name} belongs to ${owner?.service_id ?? 'another service'}. Remove it there, or revoke that service, first.`,
  );
}

async function replaceDeclarations(
  ctx: Context,
  tx: Executor,
  serviceId: string,
  { resource, scopes }: Declared,
): Promise<void> {
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
    if (!isDeclared) throw await declaredElsewhere(tx, declaration);
  }
}

/** Withdraws all declarations of a service. */
export async function withdrawAll(ctx: Context, tx: Executor, serviceId: string): Promise<void> {
  await store.lockDeclarations(tx, { ...namesOf({}), service_id: serviceId });
  await replaceDeclarations(ctx, tx, serviceId, { resource: null, scopes: [] });
}
