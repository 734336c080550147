/** Computes hashes at once, which WebCrypto does not. Other runtimes than Node, Bun and Deno have only WebCrypto. */
const nodeCrypto = globalThis.process?.getBuiltinModule?.('node:crypto');

/** The SHA-256 of a token, under which its answer is kept, so that a memory dump reveals no tokens. */
export async function hashOf(token: string): Promise<string> {
  if (nodeCrypto) return nodeCrypto.createHash('sha256').update(token).digest('base64');
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(token));
  return btoa(String.fromCharCode(...new Uint8Array(digest)));
}
