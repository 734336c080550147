import type { Guard } from '../guard.ts';
import { callerOf, rememberingGuard } from './adapter.ts';
import type { GuardedRequest } from './refusal.ts';
import type { Requirements } from './requirements.ts';

export { callerOf };

/** The part of Hono's `Context` that is used. */
interface Context {
  readonly req: { readonly raw: GuardedRequest };
}

/**
 * Middleware for Hono 4: passes on preflights and requests whose caller the guard accepts, and responds to all others.
 * @throws {RangeError} for requirements that no token can meet
 * @example
 * app.get('/projects', requireCaller(guard), (context) => context.json(projectsOf(callerOf(context).subject)));
 */
export function requireCaller(guard: Guard, requirements: Requirements = {}) {
  const routeGuard = rememberingGuard(guard, requirements);
  return async (context: Context, next: () => Promise<void>): Promise<Response | undefined> => {
    const refusal = await routeGuard(context, context.req.raw);
    if (refusal) return refusal;
    await next();
    return undefined;
  };
}
