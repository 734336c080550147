import type { Guard } from '../guard.ts';
import type { Caller } from './caller.ts';
import { rememberCaller, rememberedCaller } from './callers.ts';
import { guardedRequest, type IncomingRequest, type OutgoingResponse, sendResponse } from './incoming.ts';
import type { Requirements } from './requirements.ts';

/**
 * Middleware for Express 5: passes on requests whose caller the guard accepts, and responds to all others.
 * @throws {RangeError} for requirements that no token can meet
 * @example
 * app.get('/projects', requireCaller(guard), (request, response) => {
 *   response.json(projectsOf(callerOf(request).subject));
 * });
 */
export function requireCaller(guard: Guard, requirements: Requirements = {}) {
  const routeGuard = guard.with(requirements);
  return async (request: IncomingRequest, response: OutgoingResponse, next: () => void): Promise<void> => {
    const caller = await routeGuard(guardedRequest(request));
    if (caller instanceof Response) return sendResponse(response, caller);
    rememberCaller(request, caller);
    next();
  };
}

/**
 * The caller that `requireCaller` accepted.
 * @throws {TypeError} on a route without it
 * @example
 * const { subject } = callerOf(request);
 */
export const callerOf = (request: IncomingRequest): Caller => rememberedCaller(request);
