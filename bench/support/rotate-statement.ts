// The statement of a refresh as the service builds it, for baselines that run it without the service.

import type { Dialect, Value } from '../../packages/server/src/platform/database/executor.ts';
import { rotate } from '../../packages/server/src/sessions/store.ts';

type Values = Parameters<typeof rotate>[1];
export type RotateParameter = keyof Values;

/** The values of a session that is no run, besides those that each refresh has its own of. */
export const rotateConstants = { network: '127.0.0.0/24', program: 'a program', service_id: null } as const;

/** What stands for each value in the recorded statement: its own name. */
const names: Record<RotateParameter, RotateParameter> = {
  id: 'id',
  generation: 'generation',
  idempotency_hash: 'idempotency_hash',
  network: 'network',
  program: 'program',
  now: 'now',
  idle_expires_at: 'idle_expires_at',
  run_idle_expires_at: 'run_idle_expires_at',
  service_id: 'service_id',
};

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
  await rotate(recorder, names as unknown as Values);
  const { text, values } = seen!;
  return { text, placeholders: values as RotateStatement['placeholders'] };
}
