import { AuthError } from '../errors.ts';
import { readBasic, writeBasic } from '../values/basic.ts';
import type { GrantCall } from './grant.ts';

const invalid = (sentence: string): AuthError => new AuthError('invalid_request', sentence);

/**
 * The `Authorization` header of a token request, whose service key may also be in its form.
 * @throws {AuthError} `invalid_request` if header and form contradict each other
 * @see RFC 6749 section 2.3.1
 */
export function clientAuthorization({
  authorization,
  body: { client_id: id, client_secret: secret },
}: Pick<GrantCall, 'authorization' | 'body'>): string | null {
  const basic = readBasic(authorization);
  if (secret !== undefined && authorization !== null)
    throw invalid('client_secret: the request has an Authorization header already');
  if (secret !== undefined && id === undefined) throw invalid('client_id: is missing');
  if (basic !== undefined && id !== undefined && basic.slice(0, basic.indexOf(':')) !== id)
    throw invalid('client_id: differs from the Authorization header');
  return secret === undefined || id === undefined ? authorization : writeBasic(id, secret);
}
