import { createHash, randomBytes } from 'node:crypto';
import type { TokenSet } from '@latchkey/contract/tokens';
import { checkedAnswer, isTokenSet } from './answers.ts';
import type { Api } from './api.ts';
import { type Clock, systemClock, unlessAborted } from './clock.ts';
import { newIdempotencyKey } from './credentials.ts';
import type { LoginOptions } from './device-login.ts';
import { hasCode, LatchkeyError } from './errors.ts';
import { type Arrival, type LoopbackListener, listenOnLoopback } from './loopback-listener.ts';
import { operations } from './operations.ts';
import { readMetadata, requireOwnAddress, requireOwnIssuer } from './own-address.ts';
import { revokeToken } from './revoke-token.ts';
import { systemReason } from './storage/store-failure.ts';
import { formOf, withRetries } from './transport.ts';

export interface BrowserLoginOptions extends LoginOptions {
  /** The port of this machine to which the browser comes back. Default: any that is free. */
  readonly port?: number | undefined;
}

/** A login that waits for a browser to come back with the person's approval. */
export interface BrowserLogin {
  /** To open in a browser on this machine. It works for this login only. */
  readonly authorizationUrl: string;
  readonly expiresInSeconds: number;
  /**
   * Waits until the person has decided, and shows the browser a last page.
   * @throws {LatchkeyError} `access_denied`, `expired_token` if the browser has not come back in time,
   * `account_disabled`, `invalid_grant`, `aborted`
   */
  tokens(options?: { readonly signal?: AbortSignal }): Promise<TokenSet>;
  /**
   * Cancels the login: the browser can no longer come back, and a session that has already started ends. Call it when
   * `tokens` was aborted.
   */
  cancel(timeoutMs?: number): Promise<void>;
}

const clientId = 'latchkey-cli';
/** For the person to sign in and approve. */
const lifetimeSeconds = 300;
/** Gives 43 characters, the fewest that RFC 7636 allows. */
const secretBytes = 32;
/** Of each try. */
const redeemTimeoutMs = 10_000;
/** Every try ends within the 60 s for which the service repeats its response: a later one would count as a theft of the code. */
const retries = { pausesMs: [500, 1_000, 2_000, 4_000], maxPauseMs: 30_000, lastTryMs: 50_000 };

/**
 * Starts a login in a browser on this machine: open its address, then wait for its tokens. No code passes through the person's hands, so
 * users cannot be tricked into passing one on. For Node and Bun; use `startDeviceLogin` on machines without a browser.
 * @throws {LatchkeyError} `browser_login_unavailable` if the port is taken, or the service does not offer it;
 * `wrong_address` if the service names another address than the API's
 * @see RFC 8252, RFC 7636, RFC 8414, RFC 9207
 * @example
 * const login = await startBrowserLogin(api, { deviceName: hostname() });
 * await open(login.authorizationUrl);
 * const tokens = await login.tokens();
 */
export async function startBrowserLogin(api: Api, options: BrowserLoginOptions = {}): Promise<BrowserLogin> {
  const { clock = systemClock, signal, port = 0 } = options;
  const { issuer, authorization_endpoint, token_endpoint } = await readMetadata(api, signal);
  requireOwnIssuer(api.server, issuer);
  if (authorization_endpoint === undefined)
    throw unavailable(`${api.server} does not offer sign-ins in a browser.`);
  const url = new URL(requireOwnAddress(api.server, authorization_endpoint));
  requireOwnAddress(api.server, token_endpoint);
  const verifier = randomBytes(secretBytes).toString('base64url');
  const state = randomBytes(secretBytes).toString('base64url');
  const isExpected = (answer: URLSearchParams) =>
    answer.get('state') === state &&
    answer.get('iss') === issuer &&
    answer.has('code') !== answer.has('error');
  const listener = await listenOnLoopback(port, isExpected).catch((error: unknown) => {
    const which = port === 0 ? 'No port of 127.0.0.1 can' : `Port ${port} of 127.0.0.1 cannot`;
    throw unavailable(`${which} be used: ${systemReason(error)}.`, error);
  });
  url.search = formOf({
    response_type: 'code',
    response_mode: 'form_post',
    client_id: clientId,
    redirect_uri: listener.redirectUri,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    state,
    device_name: options.deviceName,
    scope: options.scope,
    resource: options.resource,
  }).toString();
  let redemption: Promise<TokenSet> | undefined;
  return {
    authorizationUrl: url.href,
    expiresInSeconds: lifetimeSeconds,
    tokens: async ({ signal } = {}) => {
      try {
        const arrival = await arrivalInTime(listener, clock, signal);
        // Not aborted with the wait: its outcome would be unknown.
        redemption ??= finish(arrival, (code) => redeem(api, clock, code, verifier, listener.redirectUri));
        return await unlessAborted(redemption, signal);
      } finally {
        listener.close();
      }
    },
    cancel: async (timeoutMs = api.timeoutMs) => {
      listener.close();
      if (!redemption) {
        void listener.arrival.then(({ respond }) => respond('failed'));
        return;
      }
      const limit = AbortSignal.timeout(timeoutMs);
      const tokens = await unlessAborted(redemption, limit).catch((error: unknown) => {
        // Whatever else went wrong has started no session.
        if (hasCode(error, 'aborted') || (error instanceof LatchkeyError && error.retryable)) throw error;
      });
      if (tokens) await revokeToken(api, tokens.refresh_token, timeoutMs);
    },
  };
}

const unavailable = (message: string, cause?: unknown) =>
  new LatchkeyError('browser_login_unavailable', message, { cause });

/** @throws {LatchkeyError} `expired_token`, `aborted` */
async function arrivalInTime(
  { arrival }: LoopbackListener,
  clock: Clock,
  signal: AbortSignal | undefined,
): Promise<Arrival> {
  const ended = new AbortController();
  const expired = clock.sleep(lifetimeSeconds * 1000, ended.signal).then(() => {
    throw new LatchkeyError('expired_token', 'The browser has not come back in time.');
  });
  try {
    return await unlessAborted(Promise.race([arrival, expired]), signal);
  } finally {
    ended.abort();
  }
}

/** Redeems the code, and tells the browser how that went. */
async function finish(
  { parameters, respond }: Arrival,
  redeemCode: (code: string) => Promise<TokenSet>,
): Promise<TokenSet> {
  try {
    const error = parameters.get('error');
    if (error !== null) throw refused(error, parameters.get('error_description'));
    const tokens = await redeemCode(parameters.get('code') ?? '');
    await respond('signedIn');
    return tokens;
  } catch (error) {
    await respond(hasCode(error, 'access_denied') ? 'denied' : 'failed');
    throw error;
  }
}

const refused = (error: string, description: string | null): LatchkeyError =>
  error === 'access_denied'
    ? new LatchkeyError('access_denied', 'The request was denied in the browser.')
    : new LatchkeyError('invalid_request', description ?? 'The service refused the request.');

/** Repeats the request after a lost response: the service then repeats its own. @see RFC 6749 section 4.1.3 */
function redeem(api: Api, clock: Clock, code: string, verifier: string, redirectUri: string) {
  const init = {
    method: 'POST',
    headers: { 'Idempotency-Key': newIdempotencyKey() },
    body: formOf({
      grant_type: 'authorization_code',
      client_id: clientId,
      code,
      code_verifier: verifier,
      redirect_uri: redirectUri,
    }),
  };
  const timeoutMs = Math.min(api.timeoutMs, redeemTimeoutMs);
  return withRetries(retries, clock, undefined, async () => {
    const { body } = await api.send(operations.issueToken.path, init, timeoutMs);
    return checkedAnswer<TokenSet>(body, isTokenSet, 'The response contains no tokens.');
  });
}
