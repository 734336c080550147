// What an operator does with services. A scope or resource belongs to one service for ever: people
// approved it for that service. Beside it: authentication.ts (who calls), registration.ts (what is valid),
// scopes.ts (what services declare).

import { spellingsOf } from '@latchkey/contract/scope-names';
import type { ServiceRight } from '@latchkey/contract/scopes';
import type { Context } from '../platform/context.ts';
import { newId } from '../platform/crypto/primitives.ts';
import type { Executor } from '../platform/database/executor.ts';
import { AuthError, conflict } from '../platform/errors.ts';
import { once } from '../platform/values/once.ts';
import { shown } from '../platform/values/shown.ts';
import { feedStart } from '../security-log/feed-events/feed-events.ts';
import { idPattern, newSecret, type ServiceCredentials } from './authentication.ts';
import { listOf, type Registration, requireClient, requireName, requireValid } from './registration.ts';
import * as store from './store.ts';

const withoutDuplicates = (list: readonly string[]): string => [...new Set(list)].join(' ');

/** What a service may do, as its row stores it. */
const columnsOf = (service: Omit<Registration, 'scopes'>) => ({
  resource: service.resource,
  rights: withoutDuplicates(service.rights),
  reach: withoutDuplicates(service.reach),
  redirect_uris: withoutDuplicates(service.redirectUris),
  sign_out_redirect_uris: withoutDuplicates(service.signOutRedirectUris),
  public_client: Number(service.isPublic),
  trusted: Number(service.isTrusted),
});

const registrationOf = (row: ReturnType<typeof columnsOf>): Omit<Registration, 'scopes'> => ({
  resource: row.resource,
  rights: listOf(row.rights) as ServiceRight[],
  reach: listOf(row.reach),
  redirectUris: listOf(row.redirect_uris),
  signOutRedirectUris: listOf(row.sign_out_redirect_uris),
  isPublic: row.public_client === 1,
  isTrusted: row.trusted === 1,
});

/** A registered service. One that was registered as public has no secret. */
export type CreatedService = Pick<ServiceCredentials, 'id'> & Partial<ServiceCredentials>;

/** Shows a new key to the operator, once. If it rejects, the key does not come into being. */
export type ShowKey = (created: CreatedService) => Promise<void>;

const shownByCaller: ShowKey = async () => undefined;

/**
 * Registers a service with what it declares and may do. `show` is called before the
 * commit, with the only copy of its secret.
 * @throws {AuthError} `invalid_request`; `conflict` if one of the names belongs to another service
 */
export async function createService(
  ctx: Context,
  name: string,
  registration: Registration,
  show: ShowKey = shownByCaller,
): Promise<CreatedService> {
  requireName(name);
  requireValid(registration);
  requireClient(registration, ctx.config.isLocal);
  const { rights, isPublic } = registration;
  const id = newId('svc_', ctx.random);
  const { secret, hash } = newSecret(ctx.random);
  const created = isPublic ? { id } : { id, secret };
  // A transaction may run again.
  const showOnce = once(() => show(created));
  await ctx.db.transaction(async (tx) => {
    await store.insertServiceKey(tx, {
      id,
      name,
      secret_hash: isPublic ? '' : hash,
      ...columnsOf(registration),
      now: ctx.clock(),
    });
    if (rights.includes('feed')) await startFeed(ctx, tx, id);
    await declareNames(ctx, tx, id, registration);
    await showOnce();
  });
  return created;
}

/**
 * Replaces parts of what a service declares and may do; the other parts stay.
 * @throws {AuthError} `invalid_request`; `not_found`; `conflict` if one of
 * the names belongs to another service
 */
export async function setService(ctx: Context, id: string, changes: Partial<Registration>): Promise<void> {
  requireValid(changes);
  await ctx.db.transaction(async (tx) => {
    const [service] = await store.lockServiceKey(tx, { id });
    if (!service) throw noSuchService(id);
    const changed = { ...registrationOf(service), scopes: [], ...changes };
    requireClient(changed, ctx.config.isLocal);
    if (!changed.isPublic && service.secret_hash === '')
      throw conflict(`${id} has no key yet. Run services rotate ${id} first.`);
    await store.updateServiceKey(tx, { id, ...columnsOf(changed) });
    const isNewReader = changed.rights.includes('feed') && !listOf(service.rights).includes('feed');
    if (isNewReader) await startFeed(ctx, tx, id);
    await declareNames(ctx, tx, id, changes);
  });
}

export const { restartFeeds } = store;

/** A service reads the feed from the moment it gets the right to. */
async function startFeed(ctx: Context, tx: Executor, id: string): Promise<void> {
  await store.setFeedStart(tx, { id, ...(await feedStart(ctx, tx)) });
}

export const noSuchService = (id: string) => new AuthError('not_found', `There is no active service ${id}.`);

/**
 * Adds a second secret, which works beside the first, or the first one of a service that was public. `show`
 * gets the only copy of the secret, before the commit.
 * @throws {AuthError} `not_found`; `conflict` if the service has two already
 */
export async function rotateServiceKey(ctx: Context, id: string, show: ShowKey = shownByCaller) {
  const { secret, hash } = newSecret(ctx.random);
  const showOnce = once(() => show({ id, secret }));
  await ctx.db.transaction(async (tx) => {
    const [rotated] = await store.addSecret(tx, { id, next_secret_hash: hash });
    const [first] = rotated ? [] : await store.addFirstSecret(tx, { id, secret_hash: hash });
    if (!rotated && !first) {
      await requireService(tx, id);
      throw conflict(`${id} has two secrets already. Retire the older one first.`);
    }
    await showOnce();
  });
  return { id, secret };
}

/** Ends the older of two secrets, on every node. @throws {AuthError} `not_found`; `conflict` if it has one */
export async function retireServiceKey(ctx: Context, id: string): Promise<void> {
  const [retired] = await store.retireSecret(ctx.db.single, { id });
  if (retired) return;
  await requireService(ctx.db.read, id);
  throw conflict(`${id} has only one secret. Rotate it first, or revoke the service.`);
}

async function requireService(on: Executor, id: string): Promise<void> {
  const [service] = await store.findServiceKey(on, { id });
  if (!service) throw noSuchService(id);
}

/**
 * Revokes a service and withdraws what it declared; false when there is no such service, or it is already
 * revoked. `revokeService` of the sessions also ends what the service began.
 */
export async function endService(ctx: Context, tx: Executor, id: string): Promise<boolean> {
  const [revoked] = await store.revokeServiceKey(tx, { id, now: ctx.clock() });
  if (revoked) await declareNames(ctx, tx, id, { resource: null, scopes: [] });
  return revoked !== undefined;
}

/** A service as operators see it. */
export type ListedService = Awaited<ReturnType<typeof listServices>>[number];

/** All services without their secrets, revoked ones included, oldest first. */
export async function listServices(ctx: Context) {
  const [services, declared] = await Promise.all([
    store.listServiceKeys(ctx.db.read, {}),
    store.listScopes(ctx.db.read, {}),
  ]);
  const scopes = Map.groupBy(declared, (scope) => scope.service_id);
  return services.map((row) => ({
    ...shown(row, ['id', 'name', 'resource']),
    scopes: (scopes.get(row.id) ?? []).map(({ name, sentence }) => ({ name, description: sentence ?? '' })),
    rights: listOf(row.rights),
    reach: listOf(row.reach),
    redirect_uris: listOf(row.redirect_uris),
    sign_out_redirect_uris: listOf(row.sign_out_redirect_uris),
    public: row.public_client === 1,
    trusted: row.trusted === 1,
    // None if it was registered as public; two while it changes over to the second.
    secrets: row.next_secret_hash !== null ? 2 : row.secret_hash === '' ? 0 : 1,
    ...shown(row, ['created_at', 'last_used_at', 'revoked_at']),
  }));
}

/** The active service with this id as an OAuth client. */
export async function findServiceClient(on: Executor, id: string) {
  const [row] = idPattern.test(id) ? await store.findClient(on, { id }) : [];
  return row && { id, name: row.name, ...registrationOf(row) };
}

/** Whether a service is active; then it stays so until the transaction ends. Lock the account before. */
export const holdService = async (tx: Executor, id: string): Promise<boolean> =>
  (await store.holdService(tx, { id })).length > 0;

type Declared = Pick<Partial<Registration>, 'resource' | 'scopes'>;

/** The names as the statements take them. */
const namesOf = ({ scopes = [], resource }: Declared) => ({
  scopes: JSON.stringify(scopes.map(({ name }) => name)),
  resource: resource ? spellingsOf(resource)[0] : '',
});

/**
 * Declares these names for a service, after the service is stored or locked. A part that is undefined stays
 * unchanged; names missing from the other parts are withdrawn, and the service can declare them again.
 * @throws {AuthError} `conflict` if one of the names belongs to another service, active or revoked
 */
async function declareNames(ctx: Context, tx: Executor, serviceId: string, declared: Declared) {
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
    // In one order everywhere, so that two services that declare the same new names
    // do not wait for each other.
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
