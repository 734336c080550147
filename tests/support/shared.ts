// What the tests of one block share.

import { afterAll, afterEach, beforeAll, beforeEach } from 'bun:test';

interface Closable {
  close?(): unknown;
  stop?(): unknown;
}

/**
 * Makes something before the first test of this block, and closes or stops it after the last one if it can be. It has no
 * members before.
 */
export const shared = <T extends object>(make: () => Promise<T>): T => made(make, beforeAll, afterAll);

/** Like `shared`, but made for each test of this block. */
export const fresh = <T extends object>(make: () => Promise<T>): T => made(make, beforeEach, afterEach);

function made<T extends object>(make: () => Promise<T>, before: typeof beforeAll, after: typeof afterAll): T {
  let current: (T & Closable) | undefined;
  before(async () => {
    current = await make();
  });
  after(() => (current?.close ? current.close() : current?.stop?.()));
  const use = (): T => {
    if (!current) throw new Error('what the tests share is not made yet');
    return current;
  };
  return new Proxy({} as T, {
    get: (_, name) => {
      const member: unknown = Reflect.get(use(), name);
      return typeof member === 'function' ? member.bind(current) : member;
    },
    set: (_, name, value) => Reflect.set(use(), name, value),
  });
}
