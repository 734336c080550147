import { expect, test } from 'bun:test';
import { watchRest } from './rest.ts';

test('memory is given back once when a busy process comes to rest, and never while it is busy', () => {
  const lifecycle = { handled: 0 };
  let given = 0;
  const endInterval = watchRest(lifecycle, () => given++);
  const after = (requests: number): number => {
    lifecycle.handled += requests;
    endInterval();
    return given;
  };
  expect([after(0), after(20), after(1000), after(21), after(20), after(0), after(21), after(3)]).toEqual([
    0, 0, 0, 0, 1, 1, 1, 2,
  ]);
});
