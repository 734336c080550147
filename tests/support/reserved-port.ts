// Ports for programs that cannot be told to take any free one: daemons that do not say which they took, and services that start
// again at their address. Everything else listens on port 0.

import { tmpdir } from 'node:os';
import { join } from 'node:path';

// Linux gives these to no outgoing connection and to no listener on port 0.
const lowestPort = 10_000;
const highestPort = 32_000;

let next = lowestPort + ((process.pid * 97) % (highestPort - lowestPort));

/**
 * A TCP port of 127.0.0.1 on which nothing listens, and which no other process of the tests gets until this one ends: it holds a
 * socket named by the port.
 */
export function reservePort(): number {
  for (let tried = lowestPort; tried < highestPort; tried++) {
    const port = next;
    next = next + 1 < highestPort ? next + 1 : lowestPort;
    const holder = listening(() => Bun.listen({ unix: nameOf(port), socket }));
    if (!holder) continue;
    const probe = listening(() => Bun.listen({ hostname: '127.0.0.1', port, socket }));
    probe?.stop(true);
    if (probe) {
      holder.unref();
      return port;
    }
    holder.stop(true);
  }
  throw new Error(`no free port from ${lowestPort} to ${highestPort}`);
}

/** In the abstract namespace, where there is one: it leaves no file. */
const nameOf = (port: number): string =>
  process.platform === 'linux'
    ? `\0latchkey-test-port-${port}`
    : join(tmpdir(), `latchkey-test-port-${port}`);

const socket = { data: () => undefined };

function listening<Listener>(start: () => Listener): Listener | undefined {
  try {
    return start();
  } catch {
    return undefined;
  }
}
