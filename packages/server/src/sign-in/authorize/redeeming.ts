import type { TokenSet } from '@latchkey/contract/tokens';
import { lockAccountRow } from '../../accounts/locks.ts';
import type { Context, TokenRequest } from '../../platform/context.ts';
import { readHandle, subjectBytes } from '../../platform/crypto/handle.ts';
import { hashedId, idempotencyHash, sha256 } from '../../platform/crypto/primitives.ts';
import { invalidGrant, invalidRequest, isRefusal } from '../../platform/errors.ts';
import type { ClientInfo } from '../../platform/values/client-address.ts';
import { commandLineId, proveClient } from '../../services/clients.ts';
import { holdAccess, requireOwnAccess } from '../../services/scopes.ts';
import { holdService } from '../../services/service-keys.ts';
import { endStolenSession } from '../../sessions/ending.ts';
import { repeatFirstTokens, startSession, tokensOf } from '../../sessions/starting.ts';
import * as store from './store.ts';

/** How long a second use of a code is noticed. */
const replayWindowMs = 600_000;

/** How long a repeated request gets the same answer. */
const repeatWindowMs = 60_000;

type CodeRow = Awaited<ReturnType<typeof store.findCode>>[number];

type PresentedCode = NonNullable<ReturnType<typeof readCode>>;

/** The tokens of a code, and the session that they are of. */
interface RedeemedCode {
  readonly tokens: TokenSet;
  readonly detail: 'redeemed' | 'retry';
  readonly sessionId: string;
  /** For the identity token. */
  readonly nonce: string | null;
}

const refused = invalidGrant('The code is unknown, expired or used, or not for this request.');

/**
 * Exchanges an authorization code for the first tokens of a session. Of any number of requests, one gets
 * them, and the same request with the same idempotency key gets them again.
 * @throws {AuthError} `invalid_request`, `invalid_client`, `invalid_scope` and `invalid_target`, which spend
 * nothing; `invalid_grant`, which spends the code
 * @see RFC 6749 section 4.1.3
 */
export async function redeemCode(
  ctx: Context,
  request: TokenRequest,
  verifier: string,
): Promise<RedeemedCode> {
  const { body, client } = request;
  const code = readCode(ctx, body.code, repeatedRequest(request));
  const clientId = await proveClient(ctx, request);
  if (!code) throw refused('malformed');

  const [row] = await store.findCode(ctx.db.read, { id: code.id });
  if (!row) throw refused(code.handle.value <= ctx.clock() ? 'expired' : 'unknown');
  if (row.spent_at !== null) return repeat(ctx, code, row);
  await requireOwnAccess(ctx.db.read, body, row);
  if (row.redirect_uri_named === 1 && body.redirect_uri === undefined)
    throw invalidRequest('redirect_uri: is missing');

  const isRight =
    clientId === row.client_id &&
    (body.redirect_uri ?? row.redirect_uri) === row.redirect_uri &&
    matchesChallenge(verifier, row.code_challenge);
  const tokens = isRight ? await startAppSession(ctx, code, row, client) : undefined;
  if (tokens) {
    ctx.metrics.logins.inc({ method: 'browser_code' });
    return { tokens, detail: 'redeemed', sessionId: row.session_id, nonce: row.nonce };
  }
  const [spent] = await store.spend(ctx.db.single, { id: code.id, now: ctx.clock() });
  if (spent) throw refused(isRight ? 'gone' : 'unproven');
  // Another request was faster.
  const [current] = await store.findCode(ctx.db.read, { id: code.id });
  if (!current) throw refused('expired');
  return repeat(ctx, code, current);
}

/** A code of this service. `requestHash` is of the whole request; null without an idempotency key. */
function readCode(ctx: Context, text = '', request?: string) {
  const handle = readHandle(ctx.keys, 'authorizationCode', text);
  if (!handle) return undefined;
  const { subject } = handle;
  return { handle, id: codeIdOf(subject), requestHash: idempotencyHash(subject, request) };
}

/** What makes two requests the same one, besides the code. */
const repeatedRequest = ({
  idempotencyKey: key,
  serviceKey,
  body: { client_id, redirect_uri, code_verifier, resource, scope },
}: TokenRequest): string | undefined =>
  key === undefined
    ? undefined
    : JSON.stringify([key, serviceKey, client_id, redirect_uri, code_verifier, resource, scope]);

/** Whether the code was redeemed by this very request, a moment ago. */
const isRepetition = ({ requestHash }: PresentedCode, row: CodeRow, now: number): boolean =>
  row.redeemed === 1 &&
  requestHash !== null &&
  requestHash === row.request_hash &&
  now - row.spent_at! <= repeatWindowMs;

/**
 * Ends the session of a code that was redeemed before, because another party has the code, too. Call it for
 * each code in a request that did not redeem or repeat it itself.
 * @see RFC 6749 section 4.1.2
 */
export async function noticeReplay(ctx: Context, text: string, client: ClientInfo): Promise<void> {
  const code = readCode(ctx, text);
  const [row] = code ? await store.findCode(ctx.db.read, { id: code.id }) : [];
  if (row?.redeemed !== 1 || ctx.clock() - row.spent_at! > replayWindowMs) return;
  await endStolenSession(ctx, { userId: row.user_id, sessionId: row.session_id, client }, 'code_replayed');
}

const repeatedTooLate = 'repeated_too_late';

/**
 * Whether a request with a redeemed code that ended in this error is a second use of it. After any other
 * error, or after its tokens were used or ended, the request that redeemed it may come again.
 */
export const isSecondUse = (error: Error): boolean => isRefusal(error) && error.detail !== repeatedTooLate;

/**
 * The tokens of a spent code again.
 * @throws {AuthError} `invalid_grant` unless this request spent it, and its session is as it was then
 */
async function repeat(ctx: Context, code: PresentedCode, row: CodeRow): Promise<RedeemedCode> {
  if (!isRepetition(code, row, ctx.clock())) throw refused('spent');
  try {
    const tokens = await repeatFirstTokens(ctx, sessionSecretOf(code.handle.subject), row.scope);
    return { tokens, detail: 'retry', sessionId: row.session_id, nonce: row.nonce };
  } catch (error) {
    throw isRefusal(error) ? refused(repeatedTooLate) : error;
  }
}

/** Redeems the code and starts its session in one transaction; undefined if it no longer yields tokens. */
async function startAppSession(
  ctx: Context,
  { handle, id, requestHash }: PresentedCode,
  row: CodeRow,
  client: ClientInfo,
): Promise<TokenSet | undefined> {
  const isCommandLine = row.client_id === commandLineId;
  try {
    return await ctx.db.transaction(async (tx) => {
      await lockAccountRow(tx, { id: row.user_id });
      if (row.client_id.startsWith('svc_') && !(await holdService(tx, row.client_id))) return undefined;
      await holdAccess(tx, row);
      const now = ctx.clock();
      const [redeemed] = await store.redeem(tx, { id, user_id: row.user_id, now, request_hash: requestHash });
      if (!redeemed) return undefined;
      const session = await startSession(ctx, tx, {
        userId: row.user_id,
        sinceEpoch: row.session_epoch,
        kind: isCommandLine ? 'device' : 'app',
        method: 'browser_code',
        clientName: row.client_name,
        clientId: isCommandLine ? null : row.client_id,
        deviceName: row.device_name,
        approvedBy: row.approved_by,
        touchedPasskeyId: row.passkey_id,
        authenticatedAt: redeemed.authenticated_at,
        authenticatedBy: redeemed.authenticated_by,
        scope: row.scope,
        resource: row.resource,
        client,
        secret: sessionSecretOf(handle.subject),
      });
      return tokensOf(ctx, session);
    });
  } catch (error) {
    if (isRefusal(error)) return undefined;
    throw error;
  }
}

export const codeIdOf = (secret: Uint8Array): string => hashedId('authorization code', secret);

/** Derives the session's secret from the code, so that the response to a redemption can be repeated. */
export const sessionSecretOf = (secret: Uint8Array): Buffer =>
  sha256('code session', secret).subarray(0, subjectBytes);

/** Whether a code verifier is the one that a challenge was made of. @see RFC 7636 section 4.6 */
const matchesChallenge = (verifier: string, challenge: string): boolean =>
  /^[A-Za-z0-9._~-]{43,128}$/.test(verifier) &&
  new Bun.CryptoHasher('sha256').update(verifier).digest('base64url') === challenge;
