// The programs of `examples/`, as processes on a free port.

import { join } from 'node:path';
import { end, spawn } from './cleanup.ts';
import { reservePort } from './reserved-port.ts';
import { until } from './until.ts';

export const examples = join(import.meta.dir, '../../examples');

export type RunningExample = Awaited<ReturnType<typeof startExample>>;

/** Starts a service that accepts the tokens of the service at `LATCHKEY_SERVER`, and resolves once it responds. */
export async function startExample(
  command: readonly string[],
  settings: { readonly LATCHKEY_SERVER: string; readonly SERVICE_KEY: string },
  wantedPort?: number,
) {
  const port = wantedPort ?? reservePort();
  const env = { ...settings, PATH: process.env['PATH'] ?? '', PORT: String(port), NODE_NO_WARNINGS: '1' };
  const child = spawn([...command], { cwd: examples, env, stdout: 'ignore', stderr: 'pipe' });
  const stop = () => end(child);
  const url = `http://localhost:${port}`;
  const isThere = () => fetch(url).then(Boolean, () => false);
  await until(async () => child.exitCode !== null || (await isThere()), command.join(' '));
  if (child.exitCode !== null) {
    await stop();
    throw new Error(`${command.join(' ')} did not start: ${await new Response(child.stderr).text()}`);
  }
  return { url, stop };
}
