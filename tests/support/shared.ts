// What the tests of one block share.

import { afterAll, beforeAll } from 'bun:test';

interface Closable {
  close?(): unknown;
  stop?(): unknown;
}

/**
 * Makes something before the first test of this block, and closes or stops it after the last one if it can be. It has no
 * members before.
 */
export function shared<T extends object>(make: () => Promise<T>): T {
  let made: (T & Closable) | undefined;
  beforeAll(async () => {
    made = await make();
  });
  afterAll(() => (made?.close ? made.close() : made?.stop?.()));
  const use = (): T => {
    if (!made) throw new Error('what the tests share is not made yet');
    return made;
  };
  return new Proxy({} as T, {
    get: (_, name) => {
      const member: unknown = Reflect.get(use(), name);
      return typeof member === 'function' ? member.bind(made) : member;
    },
    set: (_, name, value) => Reflect.set(use(), name, value),
  });
}
