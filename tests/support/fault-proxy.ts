// A TCP proxy on a port of 127.0.0.1 whose connections can be disturbed: all those that are open and all that follow, until
// the disturbance ends.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { closeAtTestEnd } from './cleanup.ts';
import { random } from './seed.ts';

/**
 * - `cut`: every connection is reset, and new ones are closed at once.
 * - `hang`: nothing passes and nothing is closed. What waited passes when the disturbance ends, unless its sender has gone.
 * - `slow`: every piece of data takes longer, by the same time.
 * - `reorder`: every piece takes longer by another time, so that requests over several connections overtake each other.
 * - `lose responses`: requests pass, and the connection is reset instead of passing a response.
 * - `half close`: requests pass, and the client is told that no response will follow.
 */
export type Disturbance = 'cut' | 'hang' | 'slow' | 'reorder' | 'lose responses' | 'half close';

export type FaultProxy = Awaited<ReturnType<typeof startFaultProxy>>;

const slowMs = 150;
const reorderMs = 300;

export async function startFaultProxy(port: number) {
  let targetPort = port;
  let disturbance: Disturbance | undefined;
  let ended = Promise.withResolvers<void>();
  let connections = 0;
  const open = new Set<Connection>();

  /** Resolves when a piece of data may pass. */
  const gate = async (): Promise<void> => {
    if (disturbance === 'slow') await Bun.sleep(slowMs);
    if (disturbance === 'reorder') await Bun.sleep(random.next() * reorderMs);
    while (disturbance === 'hang') await ended.promise;
  };

  const server = createServer({ allowHalfOpen: true }, (client) => {
    connections++;
    if (disturbance === 'cut') return void client.resetAndDestroy();
    const connection = join(client, targetPort, gate);
    open.add(connection);
    client.on('close', () => open.delete(connection));
    if (disturbance === 'half close') connection.halfClose();
    connection.onResponse(() => {
      if (disturbance === 'lose responses') connection.reset();
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const close = () => {
    server.close();
    for (const connection of open) connection.reset();
  };
  closeAtTestEnd(async () => close());
  return {
    port: (server.address() as AddressInfo).port,
    /** Sends new connections to another port; those that are open stay where they are. */
    redirect: (to: number): void => {
      targetPort = to;
    },
    /** How many connections were opened so far. */
    connections: () => connections,
    /** Undefined ends the disturbance. */
    disturb: (how: Disturbance | undefined): void => {
      disturbance = how;
      ended.resolve();
      ended = Promise.withResolvers<void>();
      for (const connection of open) {
        if (how === 'cut') connection.reset();
        if (how === 'half close') connection.halfClose();
      }
    },
    close,
  };
}

type Connection = ReturnType<typeof join>;

function join(client: Socket, targetPort: number, gate: () => Promise<void>) {
  const target = connect({ port: targetPort, host: '127.0.0.1', allowHalfOpen: true });
  const end = () => {
    client.destroy();
    target.destroy();
  };
  for (const socket of [client, target]) {
    socket.setNoDelay(true);
    socket.on('error', end);
    socket.on('close', end);
  }
  forward(client, target, gate);
  forward(target, client, gate);
  return {
    /** Is called before each piece of a response passes. */
    onResponse: (look: () => void) => void target.on('data', look),
    reset: (): void => {
      client.resetAndDestroy();
      target.destroy();
    },
    halfClose: () => void client.end(),
  };
}

/** Passes data and its end on, in their order. */
function forward(from: Socket, to: Socket, gate: () => Promise<void>): void {
  let last = Promise.resolve();
  const next = (pass: () => unknown) => {
    last = last.then(gate).then(() => {
      if (to.writable) pass();
    });
  };
  from.on('data', (data) => next(() => to.write(data)));
  from.on('end', () => next(() => to.end()));
}
