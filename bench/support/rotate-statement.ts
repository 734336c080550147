// The statement of a refresh as the service builds it, for baselines that run it without the service.

import type { Dialect, Value } from '../../packages/server/src/platform/database/executor.ts';
import { rotate } from '../../packages/server/src/sessions/store.ts';

const parameters = ['id', 'generation', 'idempotency_hash', 'now', 'idle_expires_at'] as const;
export type RotateParameter = (typeof parameters)[number];

/** The text, and the content of each placeholder: a parameter or a constant number. */
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
