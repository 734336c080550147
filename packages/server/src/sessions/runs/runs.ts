import type { AuthorizationDetails } from '@latchkey/contract/authorization-details';
import { fieldLimits } from '@latchkey/contract/field-limits';
import { everything } from '@latchkey/contract/scopes';
import { accessTokenType, type IssuedToken } from '@latchkey/contract/tokens';
import type { CallingService, Context } from '../../platform/context.ts';
import { AuthError, invalidScope, invalidTarget } from '../../platform/errors.ts';
import type { ClientInfo } from '../../platform/values/client-info.ts';
import { isSameResource } from '../../platform/values/resource.ts';
import { holdsEverything, isWithin } from '../../platform/values/scope.ts';
import { takeForUser } from '../../security-log/events/events.ts';
import { checkAuthorizationDetails, resolveAccess } from '../../services/scopes/scopes.ts';
import { areDetailsWithin } from './details.ts';
import { startRun } from './starting.ts';
import type { RunSubject } from './subject.ts';

/** The requested run. Without a service, a program narrows its own token. */
export interface RequestedRun {
  readonly service: CallingService | undefined;
  readonly scope: string | undefined;
  readonly resource: string | undefined;
  /** Parsed JSON, not yet validated. Undefined if not requested. */
  readonly authorizationDetails: unknown;
  readonly expiresInSeconds: number | undefined;
}

/**
 * Exchanges an access token, key or session cookie for the token of a run, which never allows more than that. With a
 * service, the service acts in the run and can refresh it.
 * @throws {AuthError} `invalid_request`, `invalid_scope`, `invalid_target`, `invalid_authorization_details`, `conflict`,
 * `rate_limited`
 * @see RFC 8693 section 2
 */
export async function exchangeToken(
  ctx: Context,
  subject: RunSubject,
  requested: RequestedRun,
  client: ClientInfo,
): Promise<IssuedToken> {
  const { session } = subject;
  const { service, expiresInSeconds = fieldLimits.runDefaultSeconds } = requested;
  requireExchangeable(subject, service);
  const access = {
    scope: narrowedScope(subject, requested.scope),
    resource: narrowedResource(subject, requested),
  };
  const details = narrowedDetails(subject, requested.authorizationDetails);
  // Inherited names are checked too: a service may have withdrawn them since.
  const { scope, resource } = await resolveAccess(ctx, { ...access, resource: access.resource ?? undefined });
  if (scope === null) throw scopeMissing();

  const owner = { userId: session.user_id, sessionId: session.id, client };
  await takeForUser(ctx, owner, { limit: 'runs', subject: session.root_session_id ?? session.id });
  const tokens = await startRun(ctx, {
    subject,
    client,
    scope,
    resource,
    authorizationDetails: details === null ? null : JSON.stringify(details),
    tokenTtlSeconds: expiresInSeconds,
    service,
    isReplacement: service !== undefined && isMeantFor(service, subject),
  });
  return {
    ...tokens,
    issued_token_type: accessTokenType,
    token_type: 'Bearer',
    scope,
    ...(details === null ? {} : { authorization_details: details }),
  };
}

/** Whether a page or program made this run without a service key, for this service to take its place. */
const isMeantFor = ({ resource }: CallingService, { session }: RunSubject): boolean =>
  session.kind === 'run' &&
  session.token_ttl_seconds === null &&
  session.resource !== null &&
  isSameResource(session.resource, resource);

/**
 * Of all services, only the one with the resource of a token may exchange it.
 * @throws {AuthError} `invalid_request`
 */
function requireExchangeable({ session }: RunSubject, service: CallingService | undefined): void {
  if (!service || session.resource === null || isSameResource(session.resource, service.resource)) return;
  throw new AuthError('invalid_request', 'subject_token: is for another service', {
    detail: 'another_service',
  });
}

const scopeMissing = () =>
  invalidScope('scope: is missing. A run needs one if its subject token allows everything.');

/** Sessions whose `*` includes proving to other systems for whom the program acts. */
const signedInKinds: readonly RunSubject['session']['kind'][] = ['browser', 'device'];

const asksForIdentity = (scope: string): boolean => scope.split(' ').includes('identity');

/** @throws {AuthError} `invalid_scope` */
function narrowedScope({ session, scope: parent }: RunSubject, requested: string | undefined): string {
  if (requested === undefined && holdsEverything(parent)) throw scopeMissing();
  const scope = requested ?? parent;
  if (scope.split(' ').includes(everything))
    throw invalidScope(`scope: a run cannot have the scope ${everything}`);
  if (asksForIdentity(scope) && !asksForIdentity(parent) && !signedInKinds.includes(session.kind))
    throw invalidScope('scope: identity is only within this scope if it is named there');
  if (!isWithin(scope, parent)) throw invalidScope('scope: exceeds the scope of the subject token');
  return scope;
}

/** @throws {AuthError} `invalid_target` */
function narrowedResource(
  { session }: RunSubject,
  { service, resource: requested }: RequestedRun,
): string | null {
  const parent = session.resource;
  if (requested === undefined || parent === null) return requested ?? parent;
  if (isSameResource(requested, parent)) return parent;
  if (service?.reach.some((reachable) => isSameResource(reachable, requested))) return requested;
  throw invalidTarget(
    service
      ? 'resource: is not within the reach of this service'
      : 'resource: must be the resource of the subject token',
  );
}

/** @throws {AuthError} `invalid_authorization_details` */
function narrowedDetails({ session }: RunSubject, requested: unknown): AuthorizationDetails | null {
  const stored = session.authorization_details;
  const parent = stored === null ? null : (JSON.parse(stored) as AuthorizationDetails);
  if (requested === undefined) return parent;
  const details = checkAuthorizationDetails(requested);
  if (parent === null || areDetailsWithin(details, parent)) return details;
  throw new AuthError(
    'invalid_authorization_details',
    'authorization_details: each must equal one in the subject token',
  );
}
