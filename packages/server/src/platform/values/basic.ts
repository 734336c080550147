/** Clients may form-encode id and secret before they apply Basic. @see RFC 6749 section 2.3.1 */
const formDecoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
};

/** `id:secret` of an `Authorization` header, without white space around it; undefined unless it is a well-formed one of HTTP Basic. */
export function readBasic(authorization: string | null): string | undefined {
  const [, encoded] = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(authorization ?? '') ?? [];
  return encoded && formDecoded(Buffer.from(encoded, 'base64').toString('utf8'))?.trim();
}

/** The header of HTTP Basic for these credentials. */
export const writeBasic = (id: string, secret: string): string =>
  `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`;
