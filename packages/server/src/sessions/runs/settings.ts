import { type Rules, sharedLimit } from '../../platform/rate-limits/rules.ts';

export const runLimits = {
  runs: sharedLimit(1200, 60, 'Runs made, by the session or key at their root.'),
} satisfies Rules;
