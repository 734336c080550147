import type { Guard } from '../guard.ts';
import type { Caller } from './caller.ts';
import { rememberCaller, rememberedCaller } from './callers.ts';
import type { GuardedRequest } from './refusal.ts';
import type { Requirements } from './requirements.ts';

/** The part of Hono's `Context` that is used. */
interface Context {
  readonly req: { readonly raw: GuardedRequest };
}

/**
 * Middleware for Hono 4: passes on requests whose caller the guard accepts, and responds to all others.
 * @throws {RangeError} for requirements that no token can meet
 * @example
 * app.get('/projects', requireCaller(guard), (context) => context.json(projectsOf(callerOf(context).subject)));
 */
export function requireCaller(guard: Guard, requirements: Requirements = {}) {
  const routeGuard = guard.with(requirements);
  return async (context: Context, next: () => Promise<void>): Promise<Response | undefined> => {
    const caller = await routeGuard(context.req.raw);
    if (caller instanceof Response) return caller;
    rememberCaller(context, caller);
    await next();
    return undefined;
  };
}

/**
 * The caller that `requireCaller` accepted.
 * @throws {TypeError} on a route without it
 * @example
 * const { subject } = callerOf(context);
 */
export const callerOf = (context: Context): Caller => rememberedCaller(context);
