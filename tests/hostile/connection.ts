// Sends bytes as they are, over a TCP connection of their own, and reads the HTTP/1.1 responses that come back.

import { connect } from 'node:net';
import type { HostileRequest } from './requests.ts';

/** A response as received. Header names are in lower case. */
export interface RawResponse {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** The complete responses, and why no more of them were awaited. */
export interface Exchange {
  readonly responses: readonly RawResponse[];
  readonly end: 'answered' | 'closed' | 'silent';
}

/** How long a well-framed request may go without an answer before it counts as lost, on a machine that stalls, too. */
const responseDeadlineMs = 60_000;

/** How long to wait for more after a badly framed request: some wait for a body that never comes. */
const quietMs = 150;

const headEnd = '\r\n\r\n';

/** The complete responses in `text`, without interim ones. */
function responsesIn(text: string, method: string): RawResponse[] {
  const responses: RawResponse[] = [];
  for (let at = 0; ; ) {
    const headLength = text.indexOf(headEnd, at);
    if (headLength < 0) return responses;
    const head = text.slice(at, headLength);
    const status = Number(head.split(' ')[1]);
    const lines = [...head.matchAll(/^([\w-]+): *(.*)$/gm)];
    const headers = new Map(lines.map(([, name = '', value = '']) => [name.toLowerCase(), value.trim()]));
    // The service knows the length of every body that it sends.
    if (headers.has('transfer-encoding')) throw new Error(`a response without a length: ${head}`);
    const isEmpty = method === 'HEAD' || status === 204 || status === 304 || status < 200;
    const from = headLength + headEnd.length;
    at = from + (isEmpty ? 0 : Number(headers.get('content-length') ?? 0));
    if (at > text.length) return responses;
    const body = Buffer.from(text.slice(from, at), 'latin1').toString();
    if (status >= 200) responses.push({ status, headers, body });
  }
}

/** Sends a request to this port of 127.0.0.1. A well-framed one ends with its response, any other one with silence. */
export const exchange = (port: number, { bytes, method, isFramed }: HostileRequest): Promise<Exchange> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    let received = '';
    const finish = (end: Exchange['end']): void => {
      clearTimeout(timer);
      // A connection that is closed in order would keep its port for a minute.
      socket.resetAndDestroy();
      resolve({ responses: responsesIn(received, method), end });
    };
    const timer = setTimeout(() => finish('silent'), isFramed ? responseDeadlineMs : quietMs);
    socket.on('data', (data) => {
      received += data.toString('latin1');
      timer.refresh();
      if (isFramed && responsesIn(received, method).length > 0) finish('answered');
    });
    // What went wrong is that no response came.
    socket.on('error', () => {});
    socket.once('close', () => finish('closed'));
    socket.write(bytes);
  });
