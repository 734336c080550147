import { userHeader } from '@latchkey/contract/endpoint';
import type { Config } from '../config/config.ts';
import type { SentServiceKey } from '../context.ts';
import { AuthError, invalidRequest } from '../errors.ts';
import { readCookie } from './cookie.ts';
import { requirePage } from './origin.ts';

/** An access token or session cookie as it was sent, not verified. */
export interface PresentedCredential {
  readonly type: 'bearer' | 'cookie';
  readonly value: string;
}

/**
 * The user's credential in a request. A bearer token takes precedence over the session cookie.
 * @throws {AuthError} `origin_not_allowed` for a cookie from a page of another origin
 * @see RFC 6750 section 2.1
 */
export function readPresentedCredential(config: Config, headers: Headers): PresentedCredential | undefined {
  const bearer = /^bearer(?: +(.*))?$/i.exec(headers.get('Authorization') ?? '');
  if (bearer) return { type: 'bearer', value: bearer[1]?.trim() ?? '' };
  const cookie = readCookie(config, 'session', headers.get('Cookie'));
  if (cookie === undefined) return undefined;
  requirePage(config, headers, 'allowed');
  return { type: 'cookie', value: cookie };
}

/** Whether the `Authorization` header names the Bearer scheme, even if what follows is not well-formed. */
export const namesBearer = (headers: Headers): boolean =>
  /^bearer\b/i.test(headers.get('Authorization') ?? '');

/**
 * The key of a service by HTTP Basic, without white space around id and secret; undefined without an
 * `Authorization` header, or if that has a user's token. Clients may form-encode both beforehand.
 * @see RFC 6749 section 2.3.1
 */
export function readServiceKey(headers: Headers): SentServiceKey | undefined {
  const authorization = headers.get('Authorization');
  // A comma separates two headers, of which the second may have a key.
  if (authorization === null || /^bearer\b[^,]*$/i.test(authorization)) return undefined;
  const [, encoded = ''] = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(authorization) ?? [];
  try {
    const sent = Buffer.from(encoded, 'base64').toString('utf8').replaceAll('+', ' ');
    const [, id = '', secret = ''] = /^([^:]*):(.*)$/s.exec(decodeURIComponent(sent)) ?? [];
    return { id: id.trim(), secret: secret.trim() };
  } catch {
    return { id: '', secret: '' };
  }
}

const userIdPattern = /^usr_[\w-]{22}$/;

/**
 * Requires that the caller is the user that the `Latchkey-User` header names, if there is one. An open page
 * shows one user, but its cookie belongs to the user who signed in last with that browser.
 * @throws {AuthError} `invalid_request` for a malformed id; `precondition_failed` for the id of another user
 */
export function requireExpectedUser(headers: Headers, userId: string): void {
  const expected = headers.get(userHeader);
  if (expected === null || expected === userId) return;
  if (!userIdPattern.test(expected)) throw invalidRequest(`${userHeader}: must be one user id`);
  const description = `The credential belongs to another user than the one in ${userHeader}.`;
  throw new AuthError('precondition_failed', description, { detail: 'another_user' });
}
