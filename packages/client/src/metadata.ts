import type { Api } from './api.ts';
import { LatchkeyError } from './errors.ts';

interface Metadata {
  /** The address that the service calls itself; it may have been reached by another one. */
  readonly issuer: string;
  /** Not checked, because only browser sign-ins need it. */
  readonly authorization_endpoint?: unknown;
}

/** @throws {LatchkeyError} `not_latchkey` @see RFC 8414 */
export async function readMetadata(api: Api, signal?: AbortSignal): Promise<Metadata> {
  const path = '/.well-known/oauth-authorization-server';
  const { body } = await api.send(path, { method: 'GET', signal: signal ?? null });
  const { issuer, authorization_endpoint } = Object(body) as Record<string, unknown>;
  if (typeof issuer !== 'string') throw new LatchkeyError('not_latchkey', 'The metadata names no issuer.');
  return { issuer, authorization_endpoint };
}
