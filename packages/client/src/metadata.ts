import { checkedAnswer, isText, objectWith } from './answers.ts';
import type { Api } from './api.ts';

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
  return checkedAnswer(body, objectWith({ issuer: isText }), 'The metadata names no issuer.');
}
