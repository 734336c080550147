// Ports that the system gives to no outgoing connection (Linux gives out 32768 and above), because it could give one out
// before the test has started its service there.
const lowestPort = 10_000;
const highestPort = 32_000;
const attempts = 50;

/** A TCP port on 127.0.0.1 that is free at the moment. */
export function freePort(): number {
  let failure: unknown;
  for (let attempt = 0; attempt < attempts; attempt++) {
    const port = lowestPort + Math.floor(Math.random() * (highestPort - lowestPort));
    try {
      Bun.listen({ hostname: '127.0.0.1', port, socket: { data: () => undefined } }).stop(true);
      return port;
    } catch (error) {
      failure = error;
    }
  }
  throw new Error('no free port', { cause: failure });
}
