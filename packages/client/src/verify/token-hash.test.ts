import { expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { hashOf } from './token-hash.ts';

test('the hash of a token is its SHA-256, with and without the module of Node', async () => {
  const withNode = process.getBuiltinModule;
  Reflect.set(process, 'getBuiltinModule', undefined);
  // A module of its own, which finds none.
  const fresh = './token-hash.ts?without-node';
  const { hashOf: withoutNode }: { hashOf: typeof hashOf } = await import(fresh);
  Reflect.set(process, 'getBuiltinModule', withNode);
  for (const token of ['lk_at_a', 'lk_ak_b']) {
    const expected = createHash('sha256').update(token).digest('base64');
    expect(hashOf(token)).toBe(expected);
    const later = withoutNode(token);
    expect([later instanceof Promise, await later]).toEqual([true, expected]);
  }
});
