import type { AuthenticationResponse, RequestOptions } from '@latchkey/contract/passkeys';
import { type BrowserSession, startBrowserSession } from '../../identity/account/account.ts';
import type { Context } from '../../platform/context.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { AuthError, orThrow } from '../../platform/errors.ts';
import type { ClientInfo } from '../../platform/values/client-address.ts';
import type { SignInOrigin } from '../../sessions/starting.ts';
import { countingFailures, recordFailure } from '../failures/failures.ts';
import {
  type Challenge,
  ceremonyRefused,
  challengeTtlMs,
  issueChallenge,
  spendChallenge,
  spendingOnRefusal,
  verifyChallenge,
} from './challenge.ts';
import * as store from './store.ts';
import { parseClientData, recordUse, verifyAuthentication, verifyClientData } from './verification.ts';

/** Options for a sign-in with any passkey the user picks. Neither reads nor writes the database. */
export const startSignIn = (ctx: Context): RequestOptions => ({
  challenge: issueChallenge(ctx, 'passkeyLogin'),
  timeout: challengeTtlMs,
  rpId: ctx.config.rpId,
  userVerification: 'required',
});

/**
 * Signs a user in with a passkey. `unknown_credential` is only returned for a response to one of our challenges from
 * one of our origins, so it does not reveal to other sites which credentials are registered.
 * @throws {AuthError} `invalid_grant`, `unknown_credential`, `account_disabled`
 */
export async function signInWithPasskey(
  ctx: Context,
  authentication: AuthenticationResponse,
  origin: SignInOrigin,
): Promise<BrowserSession> {
  const ceremony = async () => {
    const clientData = parseClientData(authentication.response.clientDataJSON);
    const challenge = verifyChallenge(ctx, 'passkeyLogin', clientData.challenge);
    const decided = await spendingOnRefusal(ctx, challenge, async () => {
      verifyClientData(ctx.config, clientData, 'webauthn.get');
      const assertion = await verifyAssertion(ctx, authentication);
      return ctx.db.transaction((tx) => completeSignIn(ctx, tx, challenge, assertion, origin));
    });
    return orThrow(decided);
  };
  const session = await countingFailures(ctx, 'passkey', () =>
    recordingRefusals(ctx, authentication.id, origin.client, ceremony),
  );
  ctx.metrics.logins.inc({ method: 'passkey' });
  return session;
}

/** Runs a ceremony for a passkey. If it is refused and the passkey is registered, records that in the log of its account. */
async function recordingRefusals<Result>(
  ctx: Context,
  credentialId: string,
  client: ClientInfo,
  ceremony: () => Promise<Result>,
): Promise<Result> {
  try {
    return await ceremony();
  } catch (error) {
    if (error instanceof AuthError && error.code === 'invalid_grant') {
      const findUserId = async () =>
        (await store.findCredential(ctx.db.read, { id: credentialId })).at(0)?.user_id;
      recordFailure(ctx, 'passkey', client, { by: credentialId, findUserId });
    }
    throw error;
  }
}

/** Finds the passkey that a response names and verifies the response with its public key. */
async function verifyAssertion(ctx: Context, authentication: AuthenticationResponse) {
  const [passkey] = await store.findCredential(ctx.db.read, { id: authentication.id });
  if (!passkey) throw unknownCredential();
  const verified = verifyAuthentication(ctx.config, authentication, passkey);
  return { id: passkey.id, user_id: passkey.user_id, ...verified, now: ctx.clock() };
}

/** Spends the challenge, records the use and starts the session. A refusal that is recorded is returned, so that it is committed. */
async function completeSignIn(
  ctx: Context,
  tx: Executor,
  challenge: Challenge,
  use: store.PasskeyUse,
  origin: SignInOrigin,
): Promise<BrowserSession | AuthError> {
  const { id: passkeyId, user_id: userId } = use;
  // Pipelined, in this order. A replay rolls the second one back.
  const [isSpent, outcome] = await Promise.all([
    spendChallenge(tx, challenge),
    recordUse(ctx, tx, use, origin.client),
  ]);
  if (!isSpent) throw ceremonyRefused('replay');
  if (outcome === 'removed') throw unknownCredential();
  if (outcome === 'clone') return ceremonyRefused('clone');
  return startBrowserSession(ctx, tx, { userId, method: 'passkey', passkeyId, ...origin });
}

const unknownCredential = () =>
  new AuthError('unknown_credential', 'No passkey with this credential ID is registered here.');
