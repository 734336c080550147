// A TCP proxy on a free port of 127.0.0.1 that breaks connections, either before it forwards a request or before it
// forwards the response.

import { connect, createServer, type Socket } from 'node:net';
import { closeAtTestEnd } from './cleanup.ts';

export interface LossyProxy {
  readonly url: string;
  /** How many requests and responses were lost. */
  readonly lost: { requests: number; answers: number };
  /** Stops losing anything. */
  mend(): void;
  /** Sends new connections to another port; those that are open stay where they are. */
  redirect(port: number): void;
  close(): void;
}

export interface Losses {
  /** The share of requests that never reach the server, 0 to 1. */
  readonly requests: number;
  /** The share of responses that are lost after the server has done its work, 0 to 1. */
  readonly answers: number;
  /** Returns numbers from 0 to 1. */
  readonly random: () => number;
}

export async function startLossyProxy(
  targetPort: number,
  { requests, answers, random }: Losses,
): Promise<LossyProxy> {
  let broken = true;
  let currentPort = targetPort;
  const lost = { requests: 0, answers: 0 };
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const target = connect(currentPort, '127.0.0.1');
    const end = () => {
      client.destroy();
      target.destroy();
      open.delete(client);
    };
    open.add(client);
    for (const socket of [client, target]) {
      socket.on('error', end);
      socket.on('close', end);
    }
    client.on('data', (chunk) => {
      if (!broken || random() >= requests) return target.write(chunk);
      lost.requests++;
      return end();
    });
    target.on('data', (chunk) => {
      if (!broken || random() >= answers) return client.write(chunk);
      lost.answers++;
      return end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const close = () => {
    server.close();
    for (const client of open) client.destroy();
  };
  closeAtTestEnd(async () => close());
  return {
    url: `http://127.0.0.1:${address.port}`,
    lost,
    mend: () => {
      broken = false;
    },
    redirect: (port) => {
      currentPort = port;
    },
    close,
  };
}
