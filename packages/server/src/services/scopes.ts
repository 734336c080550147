import { fieldLimits } from '@latchkey/contract/field-limits';
import type { ScopeList } from '@latchkey/contract/keys';
import {
  everything,
  isSameResource,
  isSameScope,
  joinScope,
  parseScope,
  spellingsOf,
} from '@latchkey/contract/scope-names';
import {
  type AuthorizationDetails,
  type DescribedScope,
  listedScopes,
  type OwnScope,
  ownScopes,
} from '@latchkey/contract/scopes';
import type { TokenSet } from '@latchkey/contract/tokens';
import type { Context } from '../platform/context.ts';
import type { Executor } from '../platform/database/executor.ts';
import { AuthError, invalidScope, invalidTarget } from '../platform/errors.ts';
import { isResource } from './registration.ts';
import * as store from './store.ts';

/** The names in a scope that services declare. */
const foreignNames = (scope: string): string[] =>
  scope.split(' ').filter((name) => name !== everything && !isOwn(name));

const isOwn = (name: string): name is OwnScope => Object.hasOwn(ownScopes, name);

/** The requested scope in its normal form. @throws {AuthError} `invalid_scope` */
async function resolveScope(ctx: Context, requested: string): Promise<string> {
  const names = parseScope(requested);
  if (!names) {
    throw invalidScope(
      `scope: must be 1-${fieldLimits.scopes} scopes separated by single spaces, each a letter followed by up to 63 of a-z, 0-9 and _.:-`,
    );
  }
  await requireDeclared(ctx.db.read, names);
  return joinScope(names);
}

/** The scopes among these names that a service declares, each with its sentence and its service's name. */
export const findScopes = async (on: Executor, names: readonly string[]) =>
  names.length === 0 ? [] : store.findScopes(on, { names: JSON.stringify(names) });

/** The service that declares this resource. PostgreSQL cannot even look for some texts that are none. */
export const findResource = async (on: Executor, resource: string) =>
  isResource(resource)
    ? (await store.findResource(on, { resource: spellingsOf(resource)[0] })).at(0)
    : undefined;

/** @throws {AuthError} `invalid_scope` if a name is neither ours nor declared */
async function requireDeclared(on: Executor, names: readonly string[]): Promise<void> {
  const foreign = foreignNames(names.join(' '));
  const declared = await findScopes(on, foreign);
  const unknown = foreign.find((name) => !declared.some((scope) => scope.name === name));
  if (unknown !== undefined) throw undeclaredScope(unknown);
}

const undeclaredScope = (name: string): AuthError => invalidScope(`scope: no service has declared ${name}`);

const undeclaredResource = (): AuthError => invalidTarget('resource: no service has declared this URI');

/** The service that declared this resource. @throws {AuthError} `invalid_target` @see RFC 8707 section 2 */
async function requireResource(on: Executor, requested: string) {
  const service = await findResource(on, requested);
  if (!service) throw undeclaredResource();
  return service;
}

/** The scopes that the service of a resource declares, by name. @throws {AuthError} `invalid_target` */
export async function listScopesOfResource(on: Executor, resource: string): Promise<string[]> {
  const { id } = await requireResource(on, resource);
  return (await store.listScopes(on, {})).flatMap(({ service_id, name }) =>
    service_id === id ? [name] : [],
  );
}

/** The requested scope and resource, validated. */
export interface RequestedAccess {
  /** Null if it did not ask for a scope, which means everything. */
  readonly scope: string | null;
  readonly resource: string | null;
}

/** @throws {AuthError} `invalid_scope`, `invalid_target` */
export const resolveAccess = async (
  ctx: Context,
  { scope, resource }: { readonly scope?: string | undefined; readonly resource?: string | undefined },
): Promise<RequestedAccess> => ({
  scope: scope === undefined ? null : await resolveScope(ctx, scope),
  resource: resource === undefined ? null : (await requireResource(ctx.db.read, resource)).resource,
});

/**
 * Requires, in the transaction that makes a token, that services declare what it will hold, until that ends.
 * The account must be locked, and nothing that it has be written yet (`accounts/locks.ts`).
 * @throws {AuthError} `invalid_scope`, `invalid_target`
 */
export async function holdAccess(tx: Executor, { scope, resource }: RequestedAccess): Promise<void> {
  const foreign = foreignNames(scope ?? everything);
  if (foreign.length === 0 && resource === null) return;
  const held = await store.holdDeclarations(tx, {
    scopes: JSON.stringify(foreign),
    resource: resource === null ? '' : spellingsOf(resource)[0],
  });
  const unknown = foreign.find(
    (wanted) => !held.some(({ kind, name }) => kind === 'scope' && name === wanted),
  );
  if (unknown !== undefined) throw undeclaredScope(unknown);
  if (resource !== null && !held.some(({ kind }) => kind === 'resource')) throw undeclaredResource();
}

/** A scope and resource that a token request repeats. Neither can change after the sign-in has started. */
export interface RepeatedAccess {
  readonly scope?: string | undefined;
  readonly resource?: string | undefined;
}

/**
 * Refuses a scope or resource other than the sign-in's: the client would get other tokens than it expects.
 * @throws {AuthError} `invalid_scope`, `invalid_target`
 */
export async function requireOwnAccess(
  on: Executor,
  { scope, resource }: RepeatedAccess,
  own: RequestedAccess,
): Promise<void> {
  const names = scope === undefined ? undefined : parseScope(scope);
  if (scope !== undefined && !(names && isSameScope(joinScope(names), own.scope ?? everything)))
    throw invalidScope('scope: must be the scope of the sign-in, in any order');
  // Everything includes other scopes, as far as there are any of that name.
  if (names?.includes(everything)) await requireDeclared(on, names);
  if (resource !== undefined && !isSameResource(resource, own.resource))
    throw invalidTarget('resource: must be the resource of the sign-in');
}

/** Leaves out the scope for everything, unless the request names it. @see RFC 6749 section 5.1 */
export const withRequestedScope = (tokens: TokenSet, { scope }: RepeatedAccess): TokenSet =>
  scope === undefined || tokens.scope !== undefined ? tokens : { ...tokens, scope: everything };

/** The names of a scope with the sentences that people approve, in their order. */
export async function describeScope(on: Executor, scope: string): Promise<DescribedScope[]> {
  const declared = await findScopes(on, foreignNames(scope));
  return scope.split(' ').map((name) => {
    if (name === everything) return { name, description: 'Everything you can do', service: null };
    if (isOwn(name)) return { name, description: ownScopes[name], service: null };
    const found = declared.find((scope) => scope.name === name);
    return { name, description: found?.sentence ?? '', service: found?.service ?? null };
  });
}

/** The name of the active service that declares a resource. */
export const serviceOf = async (on: Executor, resource: string): Promise<string | null> =>
  (await findResource(on, resource))?.name ?? null;

const maxDeclarations = 1_000;

/** Everything that a client can ask for: our own scopes first, then what services declare. */
export async function listScopes(on: Executor): Promise<ScopeList> {
  const own = listedScopes.map((name) => ({ name, description: ownScopes[name], service: null }));
  const declared = await store.listDeclarations(on, { limit: maxDeclarations });
  const scopes = declared.filter(({ kind }) => kind === 'scope');
  const resources = declared.filter(({ kind }) => kind === 'resource');
  return {
    scopes: [
      ...own,
      ...scopes.map(({ name, sentence, service }) => ({ name, description: sentence ?? '', service })),
    ],
    resources: resources.map(({ name, service, resource }) => ({ resource: resource ?? name, service })),
  };
}

const isDetail = (detail: unknown): boolean => {
  const { type } = Object(detail) as { readonly type?: unknown };
  return typeof type === 'string' && type !== '' && !Array.isArray(detail);
};

/** Whether every number can be repeated unchanged (`parseExactly`): an amount or limit must not become another one, or null. */
function isExact(value: unknown): boolean {
  if (typeof value === 'number')
    return Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value);
  return typeof value !== 'object' || value === null || Object.values(value).every(isExact);
}

/**
 * What a token allows in detail. Its types belong to the services that read them, so none is unknown here.
 * @throws {AuthError} `invalid_authorization_details`
 * @see RFC 9396 sections 2 and 5
 */
export function checkAuthorizationDetails(requested: unknown): AuthorizationDetails {
  const isWellFormed =
    Array.isArray(requested) &&
    requested.every(isDetail) &&
    // First, because it also bounds how deep the details are nested.
    Buffer.byteLength(JSON.stringify(requested)) <= fieldLimits.authorizationDetailsBytes &&
    isExact(requested);
  if (isWellFormed) return requested;
  throw new AuthError(
    'invalid_authorization_details',
    `authorization_details: must be a JSON array of objects with a string type, of at most ${fieldLimits.authorizationDetailsBytes} bytes, without numbers that lose digits`,
  );
}
