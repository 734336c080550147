import type { Guard } from '../guard.ts';
import { guardedRequest, type IncomingRequest, type OutgoingResponse, sendResponse } from './adapter.ts';
import type { Caller } from './caller.ts';
import type { Requirements } from './requirements.ts';

/**
 * For a listener of `node:http`: the caller if the guard accepts the request. Otherwise it has been responded to, and
 * the result is undefined.
 * @throws {RangeError} for requirements that no token can meet
 * @example
 * const caller = await requireCaller(guard, request, response);
 * if (!caller) return;
 */
export async function requireCaller(
  guard: Guard,
  request: IncomingRequest,
  response: OutgoingResponse,
  requirements?: Requirements,
): Promise<Caller | undefined> {
  const caller = await guard(guardedRequest(request), requirements);
  if (!(caller instanceof Response)) return caller;
  await sendResponse(response, caller);
  return undefined;
}
