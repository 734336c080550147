// Ports for programs that cannot be told to take any free one: daemons that do not say which they took, and services that start
// again at their address. Everything else listens on port 0.

// Linux gives these to no outgoing connection and to no listener on port 0.
const lowestPort = 10_000;
const highestPort = 32_000;

/** Kept open, because they hold the reservations. */
const holders: { unref(): void }[] = [];
let next = lowestPort + ((process.pid * 97) % (highestPort - lowestPort));

/**
 * A TCP port of 127.0.0.1 on which nothing listens, and which no other process of the tests gets until this one ends: it holds the UDP
 * port of the same number.
 */
export async function reservePort(): Promise<number> {
  for (let tried = lowestPort; tried < highestPort; tried++) {
    const port = next;
    next = next + 1 < highestPort ? next + 1 : lowestPort;
    const holder = await Bun.udpSocket({ hostname: '127.0.0.1', port }).catch(() => undefined);
    if (!holder) continue;
    if (isInUse(port)) {
      holder.close();
      continue;
    }
    holder.unref();
    holders.push(holder);
    return port;
  }
  throw new Error(`no free port from ${lowestPort} to ${highestPort}`);
}

function isInUse(port: number): boolean {
  try {
    Bun.listen({ hostname: '127.0.0.1', port, socket: { data: () => undefined } }).stop(true);
    return false;
  } catch {
    return true;
  }
}
