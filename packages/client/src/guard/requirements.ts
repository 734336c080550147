import type { Caller } from './caller.ts';
import type { Refusal } from './refusal.ts';

/** What a route requires of a token. */
export interface Requirements {
  /** All of these names. A token of scope `*` holds every name; `*` itself can be required, too. */
  readonly scopes?: readonly string[];
  /** The maximum time since the user signed in. Without a known time it is exceeded. @see RFC 9470 */
  readonly maxAgeSeconds?: number;
  /** The acceptable kinds of sign-in, the preferred one first; `phr` is a passkey. @see RFC 9470 */
  readonly acr?: readonly string[];
  /**
   * The types of authorization_details that the route enforces. A token with any other type is refused, because its
   * restrictions would be ignored. @see RFC 9396
   */
  readonly heeds?: readonly string[];
}

const scopePattern = /^(?:\*|[a-z][a-z0-9_.:-]{0,63})$/;
const acrPattern = /^[\x21\x23-\x5b\x5d-\x7e]+$/;
/** A type that may be repeated in a challenge. */
const typePattern = /^[\w.:/#-]{1,100}$/;

/** Requirements that hold where both do. @throws {RangeError} if no token can meet them */
export function combine(outer: Requirements, inner: Requirements): Requirements {
  const scopes = union(outer.scopes, inner.scopes);
  const heeds = union(outer.heeds, inner.heeds);
  const ages = [outer.maxAgeSeconds, inner.maxAgeSeconds].filter((age) => age !== undefined);
  const acr =
    outer.acr && inner.acr
      ? outer.acr.filter((value) => inner.acr?.includes(value))
      : (outer.acr ?? inner.acr);

  const wrongScope = scopes.find((name) => !scopePattern.test(name));
  if (wrongScope !== undefined)
    throw new RangeError(`${JSON.stringify(wrongScope)} is not the name of a scope.`);
  if (!ages.every((age) => Number.isSafeInteger(age) && age >= 0))
    throw new RangeError('maxAgeSeconds must be a whole number of seconds.');
  if (acr && !(acr.length > 0 && acr.every((value) => acrPattern.test(value))))
    throw new RangeError('acr must list the acceptable values, without spaces and quotes.');
  return {
    scopes,
    heeds,
    ...(ages.length > 0 ? { maxAgeSeconds: Math.min(...ages) } : {}),
    ...(acr ? { acr } : {}),
  };
}

const union = (...lists: (readonly string[] | undefined)[]): string[] => [
  ...new Set(lists.flatMap((list) => list ?? [])),
];

/**
 * Why this caller may not proceed, if so. As in Latchkey itself, the scope is checked before the sign-in: signing
 * in again would not help.
 * @param now seconds since 1970
 */
export function refusalFor(caller: Caller, requirements: Requirements, now: number): Refusal | undefined {
  return (
    ignoredDetail(caller, requirements) ??
    missingScope(caller, requirements) ??
    insufficientSignIn(caller, requirements, now)
  );
}

function ignoredDetail(caller: Caller, { heeds = [] }: Requirements): Refusal | undefined {
  const ignored = caller.authorizationDetails.find(({ type }) => !heeds.includes(type));
  if (!ignored) return undefined;
  const which = typePattern.test(ignored.type)
    ? `authorization_details of the type ${ignored.type}`
    : 'the authorization_details of the token';
  return { status: 403, error: 'insufficient_scope', description: `This service does not support ${which}.` };
}

/** @see RFC 6750 section 3.1 */
function missingScope(caller: Caller, { scopes = [] }: Requirements): Refusal | undefined {
  if (scopes.every((name) => caller.hasScope(name))) return undefined;
  const scope = scopes.join(' ');
  return {
    status: 403,
    error: 'insufficient_scope',
    description: `This request requires a token with the scope ${scope}.`,
    parameters: { scope },
  };
}

/** @see RFC 9470 section 3 */
function insufficientSignIn(
  { authTime, acr }: Caller,
  requirements: Requirements,
  now: number,
): Refusal | undefined {
  const { maxAgeSeconds, acr: acceptable } = requirements;
  const isOld = maxAgeSeconds !== undefined && !(authTime !== undefined && now - authTime <= maxAgeSeconds);
  const isOtherKind = acceptable !== undefined && !(acr !== undefined && acceptable.includes(acr));
  if (!isOld && !isOtherKind) return undefined;
  return {
    status: 401,
    error: 'insufficient_user_authentication',
    description: isOld
      ? 'This request requires a recent sign-in.'
      : 'This request requires another kind of sign-in.',
    parameters: {
      ...(maxAgeSeconds === undefined ? {} : { max_age: String(maxAgeSeconds) }),
      ...(acceptable ? { acr_values: acceptable.join(' ') } : {}),
    },
  };
}
