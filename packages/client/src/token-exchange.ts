import type {
  accessTokenType as contractAccessTokenType,
  tokenExchangeGrantType as contractGrantType,
  IssuedToken,
} from '@latchkey/contract/tokens';
import type { Api } from './api.ts';
import { hasCode, LatchkeyError } from './errors.ts';
import { operations } from './operations.ts';
import type { Session } from './session.ts';

const grantType: typeof contractGrantType = 'urn:ietf:params:oauth:grant-type:token-exchange';
const accessTokenType: typeof contractAccessTokenType = 'urn:ietf:params:oauth:token-type:access_token';

export interface ExchangeOptions {
  readonly api: Api;
  /** The login, key or token that the run is within. */
  readonly session: Session;
  /** Names separated by spaces, never more than the session allows. */
  readonly scope: string;
  /** The only service that accepts the token. Default: the session's own resource. */
  readonly resource?: string;
  /** 60 to 3600. Default: 900. */
  readonly expiresInSeconds?: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * A token that allows less than the session does, for one piece of work. It is not stored and cannot be refreshed, and
 * it ends with the session.
 * @throws {LatchkeyError} `invalid_scope`, `invalid_target`, `conflict`, and as `session.call`
 * @see RFC 8693
 * @example
 * const { access_token } = await exchangeToken({ api, session, scope: 'projects:read', expiresInSeconds: 300 });
 */
export async function exchangeToken(options: ExchangeOptions): Promise<IssuedToken> {
  const { session, signal } = options;
  const token = await session.accessToken({ signal });
  try {
    return await exchange(options, token);
  } catch (error) {
    if (!hasCode(error, 'invalid_request')) throw error;
    const next = await acceptedToken(session, signal);
    if (next === token) throw error;
    return exchange(options, next);
  }
}

async function exchange(
  { api, scope, resource, expiresInSeconds, signal }: ExchangeOptions,
  token: string,
): Promise<IssuedToken> {
  const form = new URLSearchParams({
    grant_type: grantType,
    subject_token: token,
    subject_token_type: accessTokenType,
    scope,
  });
  if (resource !== undefined) form.set('resource', resource);
  if (expiresInSeconds !== undefined) form.set('expires_in', String(expiresInSeconds));
  return requestRun(api, form, signal);
}

/**
 * Sends a token request for a run.
 * @throws {LatchkeyError} as the service answers; `not_latchkey`
 * @internal
 */
export async function requestRun(
  api: Api,
  form: URLSearchParams,
  signal: AbortSignal | undefined,
): Promise<IssuedToken> {
  const { body } = await api.send(operations.redeemDeviceCode.path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    body: form.toString(),
    signal: signal ?? null,
  });
  return checkedToken(body);
}

/**
 * The token endpoint reports a token that it does not accept as an error of the request (RFC 8693 section 2.2.2). Any
 * other request tells whether that was it, and renews the token.
 */
async function acceptedToken(session: Session, signal: AbortSignal | undefined): Promise<string> {
  await session.call('getProfile', { signal }).catch((error: unknown) => {
    if (!hasCode(error, 'insufficient_scope')) throw error;
  });
  return session.accessToken({ signal });
}

/** @throws {LatchkeyError} `not_latchkey` */
function checkedToken(answer: unknown): IssuedToken {
  const { access_token, expires_in } = Object(answer) as Partial<IssuedToken>;
  const isComplete =
    typeof access_token === 'string' && /^[\x21-\x7e]+$/.test(access_token) && Number.isInteger(expires_in);
  if (!isComplete) throw new LatchkeyError('not_latchkey', 'The response contains no token.');
  return answer as IssuedToken;
}
