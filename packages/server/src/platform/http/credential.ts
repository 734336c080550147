import type { Config } from '../config/config.ts';
import { readSessionCookie } from './cookie.ts';
import { requireAllowedOrigin } from './origin.ts';

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
  const cookie = readSessionCookie(config, headers.get('Cookie'));
  if (cookie === undefined) return undefined;
  requireAllowedOrigin(config, headers);
  return { type: 'cookie', value: cookie };
}

/** Whether the `Authorization` header names the Bearer scheme, even if what follows is not well-formed. */
export const namesBearer = (headers: Headers): boolean =>
  /^bearer\b/i.test(headers.get('Authorization') ?? '');
