/** Computes hashes at once, which WebCrypto does not. Other runtimes than Node, Bun and Deno have only WebCrypto. */
const nodeCrypto = globalThis.process?.getBuiltinModule?.('node:crypto');

/** The SHA-256 of a token, under which its answer is kept, so that a memory dump reveals no tokens. At once where that is possible. */
export const hashOf = (token: string): string | Promise<string> =>
  nodeCrypto ? nodeCrypto.createHash('sha256').update(token).digest('base64') : webHashOf(token);

async function webHashOf(token: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(token));
  return btoa(String.fromCharCode(...new Uint8Array(digest)));
}
