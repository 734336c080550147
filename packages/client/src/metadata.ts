import type { Api } from './api.ts';
import { LatchkeyError } from './errors.ts';

/** What the service says of itself. Compare it with the address that was asked before you rely on it (`own-address.ts`). */
interface Metadata {
  readonly issuer: string;
  readonly authorization_endpoint?: unknown;
  readonly token_endpoint?: unknown;
}

/** @throws {LatchkeyError} `not_latchkey` @see RFC 8414 */
export async function readMetadata(api: Api, signal?: AbortSignal): Promise<Metadata> {
  const path = '/.well-known/oauth-authorization-server';
  const { body } = await api.send(path, { method: 'GET', signal: signal ?? null });
  const { issuer, authorization_endpoint, token_endpoint } = Object(body) as Record<string, unknown>;
  if (typeof issuer !== 'string') throw new LatchkeyError('not_latchkey', 'The metadata names no issuer.');
  return { issuer, authorization_endpoint, token_endpoint };
}
