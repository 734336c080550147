/** A service key as it is shown and sent: `id:secret`. */
export interface ServiceCredentials {
  readonly id: string;
  readonly secret: string;
}

/** How the secret begins, so that a leaked one can be searched for. */
export const secretPrefix = 'lk_sk_';

const wellFormed = /^(svc_[\w-]{22}):(lk_sk_[\w-]{43})$/;

/** Id and secret may come form-encoded inside Basic. @see RFC 6749 section 2.3.1 */
const formDecoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
};

/** What an `Authorization` header says, or nothing when it is not Basic or cannot be a service key. */
export function readBasic(authorization: string | null): ServiceCredentials | undefined {
  const [, encoded] = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(authorization ?? '') ?? [];
  const decoded = encoded && formDecoded(Buffer.from(encoded, 'base64').toString('utf8'));
  const [, id, secret] = wellFormed.exec(decoded ?? '') ?? [];
  return id && secret ? { id, secret } : undefined;
}
