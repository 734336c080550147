import type { Rules } from '../../platform/rate-limits/rules.ts';

export const runLimits = {
  runs: {
    quota: 1200,
    windowSeconds: 60,
    shared: true,
    description: 'Runs made, by the session or key at their root.',
  },
} as const satisfies Rules;
