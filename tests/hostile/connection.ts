// A raw HTTP/1.1 connection: sends bytes as they are and reads what comes back.

import { connect, type Socket } from 'node:net';
import type { HostileRequest } from './requests.ts';

/** A response as received. Header names are in lower case. */
export interface RawResponse {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** How an exchange ended: with responses, or without one before the connection closed or the time was over. */
export interface Exchange {
  readonly responses: readonly RawResponse[];
  readonly isClosed: boolean;
  readonly isTimedOut: boolean;
}

/** How long a well-framed request may take before it counts as lost, on a machine that stalls, too. */
const responseDeadlineMs = 60_000;

/** How long to wait for more after a badly framed request: some wait for a body that never comes. */
const quietMs = 150;

const headEnd = '\r\n\r\n';

function headersIn(head: string): Map<string, string> {
  const pairs = head.split('\r\n').slice(1);
  return new Map(
    pairs.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
}

/** The first complete response in `text` and where it ends. */
function firstResponse(text: string, method: string): { response: RawResponse; end: number } | undefined {
  const headLength = text.indexOf(headEnd);
  if (headLength < 0) return undefined;
  const head = text.slice(0, headLength);
  const status = Number(head.split(' ')[1]);
  const headers = headersIn(head);
  const from = headLength + headEnd.length;
  if (method === 'HEAD' || status === 204 || status === 304 || status < 200)
    return { response: { status, headers, body: '' }, end: from };
  // The service knows the length of every body that it sends.
  if (headers.has('transfer-encoding')) throw new Error(`a response without a length: ${head}`);
  const end = from + Number(headers.get('content-length') ?? 0);
  return text.length < end ? undefined : { response: { status, headers, body: text.slice(from, end) }, end };
}

/** One connection to this port of 127.0.0.1, opened when it is needed, and replaced when the service closes it. */
export function openConnection(port: number) {
  let socket: Socket | undefined;

  const usable = (): Promise<Socket> => {
    if (socket && !socket.destroyed && socket.writable) return Promise.resolve(socket);
    return new Promise((resolve, reject) => {
      const opened = connect({ port, host: '127.0.0.1' });
      opened.once('error', reject);
      opened.once('connect', () => {
        opened.off('error', reject);
        opened.on('error', () => opened.destroy());
        socket = opened;
        resolve(opened);
      });
    });
  };

  const exchange = async ({ bytes, method, isFramed }: HostileRequest): Promise<Exchange> => {
    const on = await usable();
    return new Promise((resolve) => {
      let received = '';
      const responses: RawResponse[] = [];
      let timer = setTimeout(() => end(false, true), isFramed ? responseDeadlineMs : quietMs);
      const end = (isClosed: boolean, isTimedOut: boolean): void => {
        clearTimeout(timer);
        on.off('data', onData);
        on.off('close', onClose);
        if (!isFramed || isTimedOut) on.destroy();
        resolve({ responses, isClosed, isTimedOut });
      };
      const onClose = (): void => end(true, false);
      const onData = (data: Buffer): void => {
        received += data.toString('latin1');
        for (let found = firstResponse(received, method); found; found = firstResponse(received, method)) {
          responses.push({ ...found.response, body: Buffer.from(found.response.body, 'latin1').toString() });
          received = received.slice(found.end);
          if (isFramed && found.response.status >= 200) {
            end(false, false);
            return;
          }
        }
        if (isFramed) return;
        clearTimeout(timer);
        timer = setTimeout(() => end(false, true), quietMs);
      };
      on.on('data', onData);
      on.once('close', onClose);
      on.write(bytes);
    });
  };

  return {
    send: async (request: HostileRequest): Promise<Exchange> => {
      if (!request.isFramed) socket?.destroy();
      const isReused = socket !== undefined && !socket.destroyed;
      const first = await exchange(request);
      // The service may close an idle connection at any moment, so a reused one proves nothing.
      return isReused && first.isClosed && first.responses.length === 0 ? exchange(request) : first;
    },
    close: () => socket?.destroy(),
  };
}
