/** A service key as shown and sent: `id:secret`. */
export interface ServiceCredentials {
  readonly id: string;
  readonly secret: string;
}

/** The prefix of every secret, so that secret scanners can find leaked ones. */
export const secretPrefix = 'lk_sk_';

const wellFormed = /^(svc_[\w-]{22}):(lk_sk_[\w-]{43})$/;

/** Clients may form-encode id and secret before they apply Basic. @see RFC 6749 section 2.3.1 */
const formDecoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
};

/** Reads a service key from an `Authorization` header; undefined unless it is a well-formed key by HTTP Basic. */
export function readBasic(authorization: string | null): ServiceCredentials | undefined {
  const [, encoded] = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(authorization ?? '') ?? [];
  const decoded = encoded && formDecoded(Buffer.from(encoded, 'base64').toString('utf8'));
  const [, id, secret] = wellFormed.exec(decoded ?? '') ?? [];
  return id && secret ? { id, secret } : undefined;
}
