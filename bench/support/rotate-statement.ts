// The statement that a refresh runs, as the service itself builds it, for others to run it bare.

import type { Dialect, Value } from '../../packages/server/src/platform/database/executor.ts';
import { rotate } from '../../packages/server/src/sessions/store.ts';

const parameters = ['id', 'generation', 'idempotency_hash', 'now', 'idle_expires_at'] as const;
export type RotateParameter = (typeof parameters)[number];

/** Its text, and what goes into each placeholder of it: a parameter, or a number that is always the same. */
export interface RotateStatement {
  readonly text: string;
  readonly placeholders: readonly (RotateParameter | number)[];
}

export async function rotateStatement(dialect: Dialect): Promise<RotateStatement> {
  let seen: { text: string; values: readonly Value[] } | undefined;
  const recorder = {
    dialect,
    run: async (text: string, values: readonly Value[]) => {
      seen = { text, values };
      return [];
    },
  };
  const named = Object.fromEntries(parameters.map((name) => [name, name]));
  await rotate(recorder, named as unknown as Parameters<typeof rotate>[1]);
  const { text, values } = seen!;
  return { text, placeholders: values as RotateStatement['placeholders'] };
}
