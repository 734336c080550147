import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  createServer,
  type OutgoingHttpHeaders,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { turns } from '#support/until.ts';
import { fetchDocument, isPublicAddress } from './fetch-document.ts';

const json = { 'Content-Type': 'application/json' };
const document = JSON.stringify({ name: 'a document' });
const maxBytes = 16 * 1024;

/** Unbounded for the client: a few bytes that become many. */
const bomb = Buffer.alloc(50 * 1024 * 1024, ' ');

async function writeAgainAndAgain(response: ServerResponse, text: string, pauseTurns: number): Promise<void> {
  for (; !response.destroyed; await turns(pauseTurns)) response.write(text);
}

/** Answers with a body. */
const sending =
  (body: string | Uint8Array, headers: OutgoingHttpHeaders = json, status = 200): RequestListener =>
  (_, response) =>
    response.writeHead(status, headers).end(body);
const encoded = (encoding: string, body: Uint8Array) =>
  sending(body, { ...json, 'Content-Encoding': encoding });

const accepted: Record<string, RequestListener> = {
  '/good': sending(document),
  '/problem+json': sending(document, { 'Content-Type': 'Application/Client+JSON; charset=utf-8' }),
  '/gzip': encoded('gzip', gzipSync(document)),
  '/deflate': encoded('deflate', deflateSync(document)),
  '/br': encoded('br', brotliCompressSync(document)),
  '/largest': sending(`"${'x'.repeat(maxBytes - 2)}"`),
};

const refused: Record<string, RequestListener> = {
  '/too-large': sending(`"${'x'.repeat(maxBytes - 1)}"`),
  '/endless': (_, response) => {
    response.writeHead(200, json);
    void writeAgainAndAgain(response, 'x'.repeat(8_192), 1);
  },
  '/gzip-bomb': encoded('gzip', gzipSync(bomb)),
  '/br-bomb': encoded('br', brotliCompressSync(bomb.subarray(0, 1_000_000))),
  '/unknown-encoding': encoded('gzip, gzip', gzipSync(gzipSync(document))),
  '/slow': () => undefined,
  '/slow-body': (_, response) => {
    response.writeHead(200, json);
    response.write('{');
    void writeAgainAndAgain(response, ' ', 100);
  },
  '/redirect': sending(document, { ...json, Location: '/good' }, 302),
  '/permanent-redirect': sending('', { Location: '/good' }, 308),
  '/not-found': sending(document, json, 404),
  '/created': sending(document, json, 201),
  '/html': sending(document, { 'Content-Type': 'text/html' }),
  '/untyped': sending(document, {}),
  '/malformed': sending('{"name":'),
  '/latin-1': sending(Buffer.from('"\u00e4"', 'latin1')),
  '/reset': (request) => request.socket.destroy(),
};
const answers = { ...accepted, ...refused };

describe('a document that others choose', () => {
  let server: Server;
  let base: string;
  beforeAll(async () => {
    server = createServer((request, response) => answers[request.url ?? '']?.(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  /** Others have longer than any stall of the machine takes. */
  const request = { maxBytes, timeoutMs: 100_000, allowLoopback: true };
  const fetched = (path: string, timeoutMs = request.timeoutMs) =>
    fetchDocument(new URL(path, base), { ...request, timeoutMs });

  test.each(Object.keys(accepted))('%s is fetched', async (path) => {
    const { json } = await fetched(path);
    if (path !== '/largest') expect(json).toEqual({ name: 'a document' });
  });

  test.each(Object.keys(refused))('%s is refused, in time', async (path) => {
    await (path.startsWith('/slow')
      ? expect(fetched(path, 500)).rejects.toThrow('in time')
      : expect(fetched(path)).rejects.not.toThrow('in time'));
  });

  const client = new URL('https://app.example/client');

  test('a loopback address is asked only where it is allowed, and only by http, and no name that has a private one', async () => {
    const refuses = (url: URL, more: object) =>
      expect(fetchDocument(url, { ...request, ...more })).rejects.toThrow('not public');
    await refuses(new URL('/good', base), { allowLoopback: false });
    await refuses(new URL('/good', base.replace('http:', 'https:')), {});
    for (const addresses of [['10.0.0.1'], ['93.184.216.34', '127.0.0.1'], ['::ffff:127.0.0.1'], []])
      await refuses(client, { resolve: async () => addresses });
  });

  test('the connection goes to the address that was checked, whatever the name resolves to by then', async () => {
    const asked: string[] = [];
    const port = new URL(base).port;
    // A loopback name stands in for a public one: the second answer would be another machine.
    const resolve = async (host: string) => {
      asked.push(host);
      return asked.length === 1 ? ['127.0.0.1'] : ['127.0.0.9'];
    };
    const url = new URL(`http://localhost:${port}/good`);
    const { json } = await fetchDocument(url, { ...request, resolve });
    expect([json, asked]).toEqual([{ name: 'a document' }, ['localhost']]);
    await expect(fetchDocument(url, { ...request, resolve })).rejects.toThrow();
  });

  test('a name that does not resolve in time is given up', async () => {
    const resolve = () => new Promise<string[]>(() => undefined);
    const timeoutMs = 500;
    await expect(fetchDocument(client, { ...request, timeoutMs, resolve })).rejects.toThrow('in time');
  });
});

test.each([
  ...['8.8.8.8', '93.184.216.34', '100.63.255.255', '100.128.0.0', '172.15.0.1', '172.32.0.1'],
  ...['2606:4700:4700::1111', '2a00:1450:4001:81b::200e'],
])('%s is public', (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

test.each([
  // This host, private, shared, loopback, link-local with its metadata service
  ...['0.0.0.0', '0.1.2.3', '10.0.0.1', '100.64.0.1', '100.127.255.254', '127.0.0.1', '127.255.255.254'],
  ...['169.254.0.1', '169.254.169.254', '172.16.0.1', '172.31.255.254', '192.168.1.1'],
  // Protocol assignments, documentation, 6to4 relays, benchmarks, multicast, reserved, broadcast
  ...['192.0.0.1', '192.0.2.1', '192.88.99.1', '198.18.0.1', '198.19.255.254', '198.51.100.1'],
  ...['203.0.113.1', '224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255'],
  // Unspecified, loopback, IPv4-compatible, mapped and translated
  ...['::', '::1', '::10.0.0.1', '::8.8.8.8', '::ffff:10.0.0.1', '::ffff:8.8.8.8', '::ffff:0:10.0.0.1'],
  ...['64:ff9b::10.0.0.1', '64:ff9b::8.8.8.8', '64:ff9b:1::10.0.0.1', '2002:0a00:0001::1', '2002:808:808::1'],
  // Discard, Teredo, benchmarks, ORCHID, documentation
  ...['100::1', '2001::1', '2001:0:4136:e378:8000:63bf:3fff:fdd2', '2001:2::1', '2001:10::1', '2001:20::1'],
  ...['2001:db8::1', '3fff::1', '5f00::1'],
  // Unique local, link-local, site-local, multicast, zones
  ...['fc00::1', 'fd00::1', 'fe80::1', 'fe80::1%eth0', 'fec0::1', 'ff02::1', '2606:4700::1%1'],
  // Other spellings, and none
  ...['127.1', '0x7f000001', '2130706433', '010.0.0.1', '8.8.8', '', 'localhost', '[::1]', '8.8.8.8:80'],
])('%s is not public', (address) => {
  expect(isPublicAddress(address)).toBe(false);
});
