// A hostile server could name an honest one as the place to sign in: the person approves there, and the hostile server gets the
// tokens. So nothing that a server says of itself counts unless it agrees with the address that was asked.

import { checkedAnswer, isText, objectWith } from './answers.ts';
import { type Api, originOf } from './api.ts';
import { LatchkeyError } from './errors.ts';

/** Longer than any address that the service sends. */
const maxAddressLength = 2_048;

/**
 * @throws {LatchkeyError} `wrong_address` unless the issuer is the server's own address, a final slash aside
 * @see RFC 8414 section 3.3
 */
export function requireOwnIssuer(server: string, issuer: string, advice?: string): void {
  if (issuer.replace(/\/$/, '') !== server) throw wrongAddress(server, issuer, advice);
}

/**
 * An address of the server's own origin, as the URL standard serializes it.
 * @throws {LatchkeyError} `not_latchkey` if it is not the address of a web page, `wrong_address` if of another origin
 */
export function requireOwnAddress(server: string, address: unknown): string {
  const url = webAddress(address);
  if (!url) throw new LatchkeyError('not_latchkey', `${server} does not say where people sign in.`);
  if (url.origin !== server) throw wrongAddress(server, url.origin);
  return url.href;
}

function webAddress(address: unknown): URL | undefined {
  if (typeof address !== 'string' || address.length > maxAddressLength) return undefined;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:';
  return isWeb && url.username + url.password === '' ? url : undefined;
}

function wrongAddress(server: string, address: string, advice = "Sign in only at a server's own address.") {
  // What cannot be an address is not repeated.
  const named = originOf(address);
  const shown = named ?? webAddress(address)?.href ?? 'another one';
  const message = `${server} says that its address is ${shown}. ${advice}`;
  return new LatchkeyError('wrong_address', message, { namedServer: named });
}

/** What the service says of itself. Compare it with the address that was asked before you rely on it. */
interface Metadata {
  readonly issuer: string;
  readonly authorization_endpoint?: unknown;
  readonly token_endpoint?: unknown;
}

/** @throws {LatchkeyError} `not_latchkey` @see RFC 8414 */
export async function readMetadata(api: Api, signal?: AbortSignal): Promise<Metadata> {
  const path = '/.well-known/oauth-authorization-server';
  const { body } = await api.send(path, { method: 'GET', signal: signal ?? null });
  return checkedAnswer(body, objectWith({ issuer: isText }), 'The metadata names no issuer.');
}
