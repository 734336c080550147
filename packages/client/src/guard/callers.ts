import type { Caller } from './caller.ts';

/** By the request object of the framework: typed without changing its types, and out of reach of the client. */
const callers = new WeakMap<object, Caller>();

export function rememberCaller(request: object, caller: Caller): void {
  callers.set(request, caller);
}

/** @throws {TypeError} if no guard has accepted this request */
export function rememberedCaller(request: object): Caller {
  const caller = callers.get(request);
  if (!caller) throw new TypeError('This request has no caller: add requireCaller to its route.');
  return caller;
}
