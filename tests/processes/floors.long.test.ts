// The floors of the benchmarks are honest only as long as they answer what the service answers.

import { describe, expect, test } from 'bun:test';
import { shared } from '#support/shared.ts';
import { kinds } from '../../bench/table/kinds.ts';
import { openSides, sidesOf } from '../../bench/table/sides.ts';

const sessions = 4000;

describe.each(['sqlite', 'postgres'] as const)('on %s', (dialect) => {
  const sides = shared(() => openSides(dialect, { sessions, peers: [] }));

  test.each(kinds.map((kind) => [kind.name, kind] as const))(
    'the floor of %s answers with the status and the size of the service',
    async (_, kind) => {
      const { list, stop } = await sidesOf(kind, sides);
      await stop();
      expect(list.map(({ name }) => name)).toEqual(['service', 'floor']);
    },
  );
});
