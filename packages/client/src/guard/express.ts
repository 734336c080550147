import type { Guard } from '../guard.ts';
import {
  callerOf,
  guardedRequest,
  type IncomingRequest,
  type OutgoingResponse,
  rememberingGuard,
  sendResponse,
} from './adapter.ts';
import type { Requirements } from './requirements.ts';

export { callerOf };

/**
 * Middleware for Express 5: passes on preflights and requests whose caller the guard accepts, and responds to all others.
 * @throws {RangeError} for requirements that no token can meet
 * @example
 * app.get('/projects', requireCaller(guard), (request, response) => {
 *   response.json(projectsOf(callerOf(request).subject));
 * });
 */
export function requireCaller(guard: Guard, requirements: Requirements = {}) {
  const routeGuard = rememberingGuard(guard, requirements);
  return async (request: IncomingRequest, response: OutgoingResponse, next: () => void): Promise<void> => {
    const refusal = await routeGuard(request, guardedRequest(request));
    if (refusal) return sendResponse(response, refusal);
    next();
  };
}
