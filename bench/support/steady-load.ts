// Steady load on the load core, for latencies that count from the planned times of the requests.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawn } from 'bun';
import { endAtExit, hasEnded } from '../../tests/support/cleanup.ts';
import { temporaryDirectory } from '../../tests/support/service.ts';
import type { Latencies, SteadyLoad } from '../programs/steady-load.ts';
import { loadCore, onCore } from './cores.ts';

export interface RunningLoad {
  /**
   * Ends the load. Resolves with the latencies of each of its loads when all requests are answered.
   * @throws {Error} when an answer was not 200
   */
  stop(): Promise<Latencies[]>;
}

export function startSteadyLoad(load: SteadyLoad): RunningLoad {
  const file = join(temporaryDirectory(), 'steady-load.json');
  writeFileSync(file, JSON.stringify(load));
  const program = join(import.meta.dir, '../programs/steady-load.ts');
  const child = spawn(onCore(loadCore, [process.execPath, program]), {
    env: { PATH: process.env['PATH'] ?? '', STEADY_LOAD: file },
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  endAtExit(child.pid);
  const outputs = Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return {
    stop: async () => {
      child.stdin.end();
      const [[out, error], code] = await Promise.all([outputs, child.exited]);
      hasEnded(child.pid);
      if (code !== 0) throw new Error(`the steady load ended with ${code}: ${error}`);
      return JSON.parse(out);
    },
  };
}

/** The latencies of the requests that were planned in a period, in milliseconds since 1970. */
export const between = ({ plannedAt, ms }: Latencies, from: number, to: number): number[] =>
  ms.filter((_, index) => plannedAt[index]! >= from && plannedAt[index]! < to);

/** The smallest latency that at least this share of them, 0 to 1, does not exceed. */
export function quantile(latencies: readonly number[], share: number): number {
  const sorted = Float64Array.from(latencies).sort();
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}
