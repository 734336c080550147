import { type Clock, systemClock } from './clock.ts';
import { LatchkeyError } from './errors.ts';
import { type Caller, callerOfToken } from './guard/caller.ts';
import {
  type GuardedRequest,
  invalidToken,
  isPreflight,
  missingToken,
  notFound,
  type Refusal,
  refuse,
  unavailable,
} from './guard/refusal.ts';
import { combine, type Requirements, refusalFor } from './guard/requirements.ts';
import { isSameResource } from './resource.ts';
import type { Verifier } from './verify.ts';

export interface GuardOptions extends Requirements {
  readonly verifier: Pick<Verifier, 'verify' | 'issuer'> & Partial<Pick<Verifier, 'now'>>;
  /**
   * The URL of the guarded resource, as the service declared it. Refusals then lead clients to its metadata, so that they can sign their
   * user in without knowing more than this URL. The guard answers requests for the metadata; `protectedResource` is for
   * guards that do not get them.
   * @see RFC 9728
   */
  readonly resource?: string;
  /**
   * Also accepts tokens that are bound to no resource, such as those of `latchkey login`. Otherwise a guard with `resource`
   * accepts only tokens that are bound to it: any service that such a login visits could use its token here.
   */
  readonly acceptUnbound?: boolean;
  /**
   * Called with the reason of each 503, for your log. `invalid_client` means that the service key is wrong, `not_latchkey` that
   * another server responded, and `wrong_address` that the service's own address differs from `server` or `issuer` of the verifier.
   */
  readonly onUnavailable?: (error: LatchkeyError) => void;
  /** Default: the time of the service, as `verifier` knows it. */
  readonly clock?: Pick<Clock, 'now'>;
}

/** Decides whether a request may proceed. Requirements of guard, route and call add up. */
export interface Guard {
  /**
   * The caller, or the response to send instead:
   * - 401 `invalid_token` without an active access token or key, or with one that is not bound to `resource`
   * - 403 `insufficient_scope` if the token lacks a scope, or has authorization_details that the route does not heed
   * - 401 `insufficient_user_authentication` if the sign-in is too old or of another kind
   * - 503 `temporarily_unavailable` if Latchkey cannot be asked
   *
   * Each has a `WWW-Authenticate` or `Retry-After` header and Latchkey's error object as its body. A preflight, which never
   * has a token, is answered with 204 and without headers that allow anything; middleware (Express, Fastify, Hono) passes it on instead.
   * @see RFC 6750 section 3, RFC 9470 section 3
   */
  (request: GuardedRequest, requirements?: Requirements): Promise<Caller | Response>;
  /** A guard that requires this, too. @throws {RangeError} for requirements that no token can meet */
  with(requirements: Requirements): Guard;
  /** The response to a request for the metadata of the resource; undefined for other requests. */
  metadata(request: GuardedRequest): Promise<Response | undefined>;
}

/** If the service did not say when to try again. */
const defaultRetryAfterSeconds = 5;

/**
 * A guard for the requests to a service that accepts Latchkey's access tokens and keys. A token bound to a resource is
 * only active for the service that declared the resource.
 * @throws {RangeError} for requirements that no token can meet, or a `resource` that is not a URL
 * @example
 * const guard = createGuard({ verifier, scopes: ['projects:read'] });
 */
export function createGuard(options: GuardOptions): Guard {
  const {
    verifier,
    resource,
    acceptUnbound = false,
    onUnavailable = () => {},
    clock = { now: () => verifier.now?.() ?? systemClock.now() },
    ...requirements
  } = options;
  const metadata = resource === undefined ? undefined : resourceMetadata(resource, () => verifier.issuer());

  const isForHere = (audience: string | undefined): boolean => {
    if (resource === undefined) return true;
    return audience === undefined ? acceptUnbound : isSameResource(audience, resource);
  };

  const decide = async (request: GuardedRequest, requirements: Requirements): Promise<Caller | Refusal> => {
    const bearer = /^bearer(?: +(.*))?$/i.exec(request.headers.get('Authorization') ?? '');
    if (!bearer) return missingToken;
    const verification = await verifier.verify(bearer[1]?.trim() ?? '');
    if (!verification.active || !isForHere(verification.aud)) return invalidToken;

    const caller = callerOfToken(verification);
    return refusalFor(caller, requirements, clock.now() / 1000) ?? caller;
  };

  const unlessUnavailable = async <T>(request: GuardedRequest, respond: () => Promise<T>) => {
    try {
      return await respond();
    } catch (error) {
      if (!(error instanceof LatchkeyError)) throw error;
      onUnavailable(error);
      return refuse(request, unavailable(error.retryAfterSeconds ?? defaultRetryAfterSeconds));
    }
  };

  const respondWithMetadata = async (request: GuardedRequest): Promise<Response | undefined> => {
    const response = await unlessUnavailable(request, async () => metadata?.respond(request));
    response?.headers.set('Access-Control-Allow-Origin', '*');
    return response;
  };

  const guardWith = (required: Requirements): Guard => {
    metadata?.list(required);
    const guard = async (request: GuardedRequest, more?: Requirements): Promise<Caller | Response> => {
      const needed = more ? combine(required, more) : required;
      const document = await respondWithMetadata(request);
      if (document) return document;
      if (isPreflight(request)) return new Response(null, { status: 204 });
      return unlessUnavailable(request, async () => {
        const decision = await decide(request, needed);
        return 'subject' in decision ? decision : refuse(request, decision, metadata?.challengeFor(needed));
      });
    };
    return Object.assign(guard, {
      with: (more: Requirements) => guardWith(combine(required, more)),
      metadata: respondWithMetadata,
    });
  };
  return guardWith(combine({}, requirements));
}

/**
 * Serves only the metadata of a guard's resource, for programs that guard single routes: mount it at
 * `/.well-known/oauth-protected-resource` and all paths below.
 * @see RFC 9728 section 3
 * @example
 * app.all('/.well-known/oauth-protected-resource/*', (context) => metadata(context.req.raw));
 */
export const protectedResource =
  (guard: Guard) =>
  async (request: GuardedRequest): Promise<Response> =>
    (await guard.metadata(request)) ?? refuse(request, notFound);

const wellKnownPath = '/.well-known/oauth-protected-resource';
/** New scopes of a program are seen by clients after this time. */
const maxAgeSeconds = 300;

/**
 * The document that tells clients who issues tokens for a resource.
 * @throws {RangeError} for a resource that is no URL, or would break a challenge
 * @see RFC 9728
 */
function resourceMetadata(resource: string, issuer: () => Promise<string>) {
  if (!/^https?:\/\/[\x21\x24-\x5b\x5d-\x7e]+$/.test(resource) || !URL.canParse(resource))
    throw new RangeError('resource must be an https or http URL without a fragment.');
  const { origin, pathname, search } = new URL(resource);
  const path = wellKnownPath + (pathname === '/' ? '' : pathname);
  const listed = new Set<string>();

  return {
    /** The parameters that lead a refused client to the document. */
    challengeFor: ({ scopes = [] }: Requirements): Record<string, string> => ({
      resource_metadata: origin + path + search,
      ...(scopes.length > 0 ? { scope: scopes.join(' ') } : {}),
    }),
    /** Lists the scopes of a route. */
    list: ({ scopes = [] }: Requirements): void => {
      // Only the person's own login can have it, so no client could ask for it.
      for (const name of scopes) if (name !== '*') listed.add(name);
    },
    /** The response to a request for the document; undefined for other requests. */
    respond: async ({ method, url = '', headers }: GuardedRequest): Promise<Response | undefined> => {
      if (URL.parse(url, origin)?.pathname !== path) return undefined;
      if (method === 'OPTIONS') {
        const preflight = {
          'Access-Control-Allow-Methods': 'GET, HEAD',
          'Access-Control-Allow-Headers': headers.get('Access-Control-Request-Headers') ?? '',
          'Access-Control-Max-Age': '600',
        };
        return new Response(null, { status: 204, headers: preflight });
      }
      if (method !== 'GET' && method !== 'HEAD')
        return new Response(null, { status: 405, headers: { Allow: 'GET, HEAD, OPTIONS' } });
      const document = {
        resource,
        authorization_servers: [await issuer()],
        ...(listed.size > 0 ? { scopes_supported: [...listed] } : {}),
        bearer_methods_supported: ['header'],
      };
      return Response.json(document, {
        headers: { 'Cache-Control': `public, max-age=${maxAgeSeconds}` },
      });
    },
  };
}
