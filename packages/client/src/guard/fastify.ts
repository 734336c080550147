import type { Guard } from '../guard.ts';
import { callerOf, guardedRequest, type IncomingRequest, rememberingGuard } from './adapter.ts';
import type { Requirements } from './requirements.ts';

export { callerOf };

/** The part of Fastify's `FastifyReply` that sends a refusal. */
interface Reply {
  code(status: number): unknown;
  headers(headers: Record<string, string>): unknown;
  send(body: string): unknown;
}

/**
 * An `onRequest` hook for Fastify 5: passes on preflights and requests whose caller the guard accepts, and responds to all others
 * before their body is read.
 * @throws {RangeError} for requirements that no token can meet
 * @example
 * app.get('/projects', { onRequest: requireCaller(guard) }, (request) => projectsOf(callerOf(request).subject));
 */
export function requireCaller(guard: Guard, requirements: Requirements = {}) {
  const routeGuard = rememberingGuard(guard, requirements);
  return async (request: IncomingRequest, reply: Reply): Promise<unknown> => {
    const refusal = await routeGuard(request, guardedRequest(request));
    if (!refusal) return undefined;
    const body = await refusal.text();
    reply.code(refusal.status);
    reply.headers(Object.fromEntries(refusal.headers));
    reply.send(body);
    // Fastify calls no handler after a hook that returns the reply.
    return reply;
  };
}
