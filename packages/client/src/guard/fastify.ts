import type { Guard } from '../guard.ts';
import type { Caller } from './caller.ts';
import { rememberCaller, rememberedCaller } from './callers.ts';
import { guardedRequest, type IncomingRequest } from './incoming.ts';
import type { Requirements } from './requirements.ts';

/** The part of Fastify's `FastifyReply` that sends a refusal. */
interface Reply {
  code(status: number): unknown;
  headers(headers: Record<string, string>): unknown;
  send(body: string): unknown;
}

/**
 * An `onRequest` hook for Fastify 5: passes on requests whose caller the guard accepts, and responds to all others
 * before their body is read.
 * @throws {RangeError} for requirements that no token can meet
 * @example
 * app.get('/projects', { onRequest: requireCaller(guard) }, (request) => projectsOf(callerOf(request).subject));
 */
export function requireCaller(guard: Guard, requirements: Requirements = {}) {
  const routeGuard = guard.with(requirements);
  return async (request: IncomingRequest, reply: Reply): Promise<unknown> => {
    const caller = await routeGuard(guardedRequest(request));
    if (!(caller instanceof Response)) {
      rememberCaller(request, caller);
      return undefined;
    }
    const body = await caller.text();
    reply.code(caller.status);
    reply.headers(Object.fromEntries(caller.headers));
    reply.send(body);
    // Fastify calls no handler after a hook that returns the reply.
    return reply;
  };
}

/**
 * The caller that `requireCaller` accepted.
 * @throws {TypeError} on a route without it
 * @example
 * const { subject } = callerOf(request);
 */
export const callerOf = (request: IncomingRequest): Caller => rememberedCaller(request);
