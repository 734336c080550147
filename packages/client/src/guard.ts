import { type Clock, systemClock } from './clock.ts';
import { LatchkeyError } from './errors.ts';
import { type Caller, callerOfToken } from './guard/caller.ts';
import { type GuardedRequest, invalidToken, missingToken, refuse, unavailable } from './guard/refusal.ts';
import { combine, type Requirements, refusalFor } from './guard/requirements.ts';
import type { Verifier } from './verify.ts';

export interface GuardOptions extends Requirements {
  readonly verifier: Pick<Verifier, 'verify'>;
  /**
   * Called with the reason of each 503, for your log. `invalid_client` means that the service key is wrong, and
   * `not_latchkey` that another server responded.
   */
  readonly onUnavailable?: (error: LatchkeyError) => void;
  readonly clock?: Pick<Clock, 'now'>;
}

/**
 * Decides whether a request may proceed. Requirements of the guard, the route and the call add up: none removes what another
 * one requires.
 */
export interface Guard {
  /**
   * The caller, or the response to send instead:
   * - 401 `invalid_token` without an active access token or key
   * - 403 `insufficient_scope` if the token lacks a scope, or has authorization_details that the route does not heed
   * - 401 `insufficient_user_authentication` if the sign-in is too old or of another kind
   * - 503 `temporarily_unavailable` if Latchkey cannot be asked
   *
   * Each has a `WWW-Authenticate` or `Retry-After` header and Latchkey's error object as its body.
   * @see RFC 6750 section 3, RFC 9470 section 3
   */
  (request: GuardedRequest, requirements?: Requirements): Promise<Caller | Response>;
  /** A guard that requires this, too. @throws {RangeError} for requirements that no token can meet */
  with(requirements: Requirements): Guard;
}

/** If the service did not say when to try again. */
const defaultRetryAfterSeconds = 5;

/**
 * A guard for the requests to a service that accepts Latchkey's access tokens and keys. A token bound to a resource is
 * only active for the service that declared the resource, so the audience needs no check here.
 * @throws {RangeError} for requirements that no token can meet
 * @example
 * const guard = createGuard({ verifier, scopes: ['projects:read'] });
 */
export function createGuard(options: GuardOptions): Guard {
  const { verifier, onUnavailable = () => {}, clock = systemClock, ...requirements } = options;

  const ask = async (request: GuardedRequest, requirements: Requirements): Promise<Caller | Response> => {
    const bearer = /^bearer(?: +(.*))?$/i.exec(request.headers.get('Authorization') ?? '');
    if (!bearer) return refuse(request, missingToken);
    const verification = await verifier.verify(bearer[1]?.trim() ?? '');
    if (!verification.active) return refuse(request, invalidToken);
    const caller = callerOfToken(verification);
    const refusal = refusalFor(caller, requirements, clock.now() / 1000);
    return refusal ? refuse(request, refusal) : caller;
  };

  const guardWith = (required: Requirements): Guard => {
    const guard = async (request: GuardedRequest, more?: Requirements): Promise<Caller | Response> => {
      try {
        return await ask(request, more ? combine(required, more) : required);
      } catch (error) {
        if (!(error instanceof LatchkeyError)) throw error;
        onUnavailable(error);
        return refuse(request, unavailable(error.retryAfterSeconds ?? defaultRetryAfterSeconds));
      }
    };
    return Object.assign(guard, { with: (more: Requirements) => guardWith(combine(required, more)) });
  };
  return guardWith(combine({}, requirements));
}
