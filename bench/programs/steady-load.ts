// Sends requests at planned times over a fixed number of connections, whether or not earlier ones have been answered (an open
// loop), until its standard input ends. A latency counts from the planned time, so that a stall delays every request that was
// planned during it. Prints the latencies as a line of JSON, or fails at the first answer other than 200.

import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';

export interface SteadyLoad {
  readonly port: number;
  readonly loads: readonly PlannedLoad[];
}

export interface PlannedLoad {
  readonly perSecond: number;
  readonly connections: number;
  /** Complete HTTP requests that are sent in turn, or refresh tokens that are exchanged in turn for their successors. */
  readonly requests: readonly string[] | { readonly refreshTokens: readonly string[]; readonly path: string };
}

/** When each answered request was planned, in milliseconds since 1970, and how long it then took. */
export interface Latencies {
  readonly plannedAt: readonly number[];
  readonly ms: readonly number[];
}

const { port, loads }: SteadyLoad = JSON.parse(readFileSync(process.env['STEADY_LOAD'] ?? '', 'utf8'));
/** The earliest time of the first request, so that all connections are open. */
const startDelayMs = 200;
let hasEnded = false;

/** One connection, which sends one request at a time. */
class Connection {
  readonly #socket: Socket;
  #received = '';
  #done: ((body: string) => void) | undefined;

  constructor() {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.setEncoding('latin1');
    this.#socket.on('data', (text) => this.#receive(String(text)));
    this.#socket.on('close', () => fail('the service closed a connection'));
    this.#socket.on('error', (error) => fail(error.message));
  }

  send(request: string, done: (body: string) => void): void {
    this.#done = done;
    this.#socket.write(request);
  }

  #receive(text: string): void {
    this.#received += text;
    const head = this.#received.indexOf('\r\n\r\n');
    if (head === -1) return;
    const length = Number(/^content-length: (\d+)\r$/im.exec(this.#received)?.[1]);
    if (this.#received.length < head + 4 + length) return;
    if (!this.#received.startsWith('HTTP/1.1 200 ')) fail(`an answer was ${this.#received}`);
    const body = this.#received.slice(head + 4);
    this.#received = '';
    this.#done?.(body);
  }
}

function fail(message: string): void {
  if (hasEnded) return;
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

interface Source {
  next(): string;
  answered(body: string): void;
}

function sourceOf(requests: PlannedLoad['requests']): Source {
  if ('refreshTokens' in requests) return refreshes(requests.path, [...requests.refreshTokens]);
  let sent = 0;
  return { next: () => requests[sent++ % requests.length]!, answered: () => undefined };
}

function refreshes(path: string, tokens: string[]): Source {
  let first = 0;
  return {
    next: () => {
      const token = tokens[first++];
      if (token === undefined) return fail('more requests at a time than refresh tokens') ?? '';
      const body = JSON.stringify({ refresh_token: token });
      return `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    },
    answered: (body) => void tokens.push(JSON.parse(body).refresh_token),
  };
}

/** Runs a load until it is ended and all its requests are answered. */
function run(load: PlannedLoad, startedAt: number): Promise<Latencies> {
  const source = sourceOf(load.requests);
  const free = Array.from({ length: load.connections }, () => new Connection());
  const waiting: number[] = [];
  const [plannedAt, ms]: [number[], number[]] = [[], []];
  let planned = 0;
  return new Promise((resolve) => {
    const send = () => {
      while (free.length > 0 && waiting.length > 0) {
        // In turn, so that none is idle long enough to be closed.
        const connection = free.shift()!;
        const at = waiting.shift()!;
        connection.send(source.next(), (body) => {
          plannedAt.push(performance.timeOrigin + at);
          ms.push(performance.now() - at);
          source.answered(body);
          free.push(connection);
          send();
        });
      }
      if (hasEnded && free.length === load.connections && waiting.length === 0) resolve({ plannedAt, ms });
    };
    const tick = () => {
      const at = () => startedAt + (planned * 1000) / load.perSecond;
      for (; !hasEnded && at() <= performance.now(); planned++) waiting.push(at());
      send();
      if (!hasEnded) setTimeout(tick, Math.max(0, at() - performance.now()));
    };
    tick();
  });
}

const startedAt = performance.now() + startDelayMs;
const results = loads.map((load) => run(load, startedAt));
for await (const _ of process.stdin) {
  // Only its end matters.
}
hasEnded = true;
await Bun.write(Bun.stdout, `${JSON.stringify(await Promise.all(results))}\n`);
process.exit(0);
