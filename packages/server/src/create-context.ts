import type { Context } from './platform/context.ts';
import { systemRandom } from './platform/crypto/primitives.ts';
import { createRateLimiter } from './platform/rate-limits/limiter.ts';
import { createMetrics } from './platform/telemetry/metrics.ts';
import { rateLimitNames, rateLimitRules } from './settings.ts';
import { signInFailureReasons } from './sign-in/failures/failures.ts';

/** The context of a process, which sends no mail and is not asked to stop: `serve` adds both. */
export function createContext(
  parts: Pick<Context, 'config' | 'log' | 'db' | 'keys' | 'logKeys' | 'clock' | 'timers'>,
): Context {
  const { config, db, clock } = parts;
  const metrics = createMetrics(rateLimitNames, signInFailureReasons);
  const quotas = config.rateLimitsEnabled ? config.rateLimitQuotas : undefined;
  return {
    ...parts,
    metrics,
    limiter: createRateLimiter(rateLimitRules, quotas, { db, clock, metrics }),
    random: systemRandom,
    wakeMailWorker: () => undefined,
    stopping: new AbortController().signal,
  };
}
