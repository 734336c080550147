// The programs of `examples/`, as processes on a free port.

import { join } from 'node:path';
import { reservePort } from './reserved-port.ts';
import { launch, untilReady } from './service.ts';

export const examples = join(import.meta.dir, '../../examples');

/** Starts a service that accepts the tokens of the service at `LATCHKEY_SERVER`, and resolves once it responds. */
export async function startExample(
  command: readonly string[],
  settings: { readonly LATCHKEY_SERVER: string; readonly SERVICE_KEY: string },
  port = reservePort(),
) {
  const env = { ...settings, PATH: process.env['PATH'] ?? '', PORT: String(port), NODE_NO_WARNINGS: '1' };
  const url = `http://localhost:${port}`;
  const isThere = () => fetch(url).then(Boolean);
  return { url, stop: await untilReady(command.join(' '), launch(examples, env, command), isThere) };
}
