/** A source of cryptographically random bytes. Tests pass their own. */
export type Random = (bytes: number) => Buffer;

export const systemRandom: Random = (bytes) => Buffer.from(crypto.getRandomValues(new Uint8Array(bytes)));

const idBytes = 16;

/** A new opaque identifier: the prefix and 128 random bits in base64url. */
export const newId = (prefix: 'usr_' | 'pk_' | 'org_' | 'evt_' | 'mail_' | 'svc_', random: Random): string =>
  prefix + random(idBytes).toString('base64url');

const spanIdBytes = 8;

/** A new id of a span: 16 hexadecimal digits, not all zero. @see W3C Trace Context, section 3.2.2.4 */
export const newSpanId = (random: Random): string => {
  const id = random(spanIdBytes);
  id[0] = (id[0] ?? 0) | 1;
  return id.toString('hex');
};
