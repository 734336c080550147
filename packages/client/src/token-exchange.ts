import type {
  accessTokenType as contractAccessTokenType,
  tokenExchangeGrantType as contractGrantType,
  IssuedToken,
} from '@latchkey/contract/tokens';
import { checkedAnswer, isIssuedToken } from './answers.ts';
import type { Api } from './api.ts';
import { hasCode } from './errors.ts';
import { operations } from './operations.ts';
import type { Session } from './session.ts';
import { formOf } from './transport.ts';

const grantType: typeof contractGrantType = 'urn:ietf:params:oauth:grant-type:token-exchange';
const accessTokenType: typeof contractAccessTokenType = 'urn:ietf:params:oauth:token-type:access_token';

/** What a new token is to allow. */
export interface WantedToken {
  /** Names separated by spaces. Default: everything that its key or agent allows. */
  readonly scope?: string | undefined;
  /** The only service that accepts the token. Default: the resource of the session, key or agent, if any. */
  readonly resource?: string | undefined;
  /** 60 to 3600, from an agent 60 to 900. Default: 900. */
  readonly expiresInSeconds?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface ExchangeOptions extends WantedToken {
  readonly api: Api;
  /** The login, key or token that the run is within. */
  readonly session: Session;
  /** Never more than the session allows. */
  readonly scope: string;
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

const exchange = ({ api, ...wanted }: ExchangeOptions, subject_token: string): Promise<IssuedToken> =>
  requestRun(api, { grant_type: grantType, subject_token, subject_token_type: accessTokenType }, wanted);

/** Sends a token request for a run. @throws {LatchkeyError} as the service; `not_latchkey` @internal */
export async function requestRun(
  api: Api,
  grant: Readonly<Record<string, string>>,
  { scope, resource, expiresInSeconds, signal }: WantedToken,
): Promise<IssuedToken> {
  const { body } = await api.send(operations.issueToken.path, {
    method: 'POST',
    body: formOf({ ...grant, scope, resource, expires_in: expiresInSeconds?.toString() }),
    signal: signal ?? null,
  });
  return checkedAnswer(body, isIssuedToken, 'The response contains no token.');
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
