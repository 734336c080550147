// Requests to URLs supplied by others, to public addresses only: this prevents server-side request forgery.

import { lookup } from 'node:dns/promises';
import http from 'node:http';
import https from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import ipaddr from 'ipaddr.js';
import { isLoopbackHost } from '../values/loopback.ts';

/** What is outside is local, multicast, translated to IPv4 or not assigned. @see RFC 4291 section 2.4 */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

/** Within global unicast, but not the address of one host of its own that the library knows as such. */
const special: readonly [ipaddr.IPv6, number][] = [
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
].map((range) => ipaddr.IPv6.parseCIDR(range));

/**
 * Whether an IP address is public: not local, shared, reserved, mapped or translated to IPv4.
 * @see https://www.iana.org/assignments/iana-ipv6-special-registry
 */
export function isPublicAddress(text: string): boolean {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text).range() === 'unicast';
  if (!ipaddr.IPv6.isValid(text)) return false;
  const address = ipaddr.IPv6.parse(text);
  return (
    address.zoneId === undefined &&
    address.match(globalUnicast) &&
    !special.some((range) => address.match(range)) &&
    address.range() === 'unicast'
  );
}

/** The addresses of a host name. */
export type Resolve = (host: string) => Promise<readonly string[]>;

export interface DocumentRequest {
  readonly maxBytes: number;
  readonly timeoutMs: number;
  /** Loopback hosts may be asked, too: for development. */
  readonly allowLoopback: boolean;
  readonly resolve?: Resolve | undefined;
}

export class FetchError extends Error {}

const resolveName: Resolve = async (host) =>
  (await lookup(host, { all: true })).map(({ address }) => address);

/**
 * Fetches a JSON document within the limits of time and size, from public addresses only, without following
 * redirects. The connection goes to the address that was checked, whatever the name resolves to by then.
 * @throws {FetchError}
 */
export async function fetchDocument(url: URL, request: DocumentRequest) {
  const deadline = AbortSignal.timeout(request.timeoutMs);
  const timedOut = new Promise<never>((_, reject) => {
    deadline.addEventListener('abort', () => reject(new FetchError('no answer in time')), { once: true });
  });
  try {
    return await Promise.race([fetchWithin(url, request, deadline), timedOut]);
  } catch (error) {
    throw error instanceof FetchError ? error : new FetchError('the request failed', { cause: error });
  }
}

async function fetchWithin(url: URL, request: DocumentRequest, signal: AbortSignal) {
  const address = await addressOf(url, request);
  const response = await get(url, address, signal);
  try {
    if (response.statusCode !== 200) throw new FetchError(`the status is ${response.statusCode}`);
    const headers = new Headers(response.headers as Record<string, string>);
    const type = headers.get('Content-Type')?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
    if (!/^application\/(?:[\w.-]+\+)?json$/.test(type)) throw new FetchError('it is not JSON');
    const body = await readBody(response, request.maxBytes);
    const text = decode(body, headers.get('Content-Encoding'), request.maxBytes);
    return { json: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(text)) as unknown, headers };
  } finally {
    response.destroy();
  }
}

/** One address of the host. All of its addresses must be acceptable; otherwise the name is not trusted. */
async function addressOf(
  { hostname, protocol }: URL,
  { allowLoopback, resolve = resolveName }: DocumentRequest,
): Promise<string> {
  const host = hostname.replace(/^\[|\]$/g, '');
  const addresses = isIP(host) ? [host] : await resolve(host);
  const isLoopback = allowLoopback && protocol === 'http:' && isLoopbackHost(hostname);
  const isAcceptable = isLoopback ? isLoopbackHost : isPublicAddress;
  const [first] = addresses;
  if (first === undefined || !addresses.every(isAcceptable))
    throw new FetchError('the address is not public');
  return first;
}

function get(url: URL, address: string, signal: AbortSignal): Promise<http.IncomingMessage> {
  const family = isIP(address);
  const pinned: LookupFunction = (_, options, callback) =>
    options.all ? callback(null, [{ address, family }]) : callback(null, address, family);
  const options = {
    // No agent: a kept connection could be one to another address.
    agent: false,
    lookup: pinned,
    signal,
    headers: { Accept: 'application/json', 'Accept-Encoding': 'identity' },
  };
  return new Promise((resolve, reject) => {
    const { get } = url.protocol === 'https:' ? https : http;
    get(url, options, resolve).on('error', reject);
  });
}

async function readBody(response: http.IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBytes) throw new FetchError('it is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const decoders: Readonly<Record<string, (body: Buffer, limit: { maxOutputLength: number }) => Buffer>> = {
  gzip: gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
};

/** Servers may compress unasked. */
function decode(body: Buffer, encoding: string | null, maxBytes: number): Buffer {
  if (encoding === null || encoding === 'identity') return body;
  const decoder = decoders[encoding.trim().toLowerCase()];
  if (!decoder) throw new FetchError('its encoding is unknown');
  return decoder(body, { maxOutputLength: maxBytes });
}
