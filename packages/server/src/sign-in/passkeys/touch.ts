// Verifies that a passkey was touched for one act. @see WebAuthn Level 3 section 7.2

import type { AuthenticationResponse } from '@latchkey/contract/passkeys';
import type { Caller, Context, Requester } from '../../platform/context.ts';
import { sha256 } from '../../platform/crypto/primitives.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { AuthError } from '../../platform/errors.ts';
import { byClient } from '../../platform/rate-limits/limiter.ts';
import { canonicalJson } from '../../platform/values/json.ts';
import { insufficientAuthentication, lockAccountAs, requireRecentSignIn } from '../../sessions/sessions.ts';
import type { Act, Touches } from '../../sessions/touches.ts';
import { countingFailures, recordFailure } from '../failures/failures.ts';
import {
  ceremonyRefused,
  challengeTtlMs,
  issueChallenge,
  spendChallenge,
  verifyChallenge,
} from './challenge.ts';
import { descriptorOf } from './passkeys.ts';
import * as store from './store.ts';
import { parseClientData, recordUse, verifyAuthentication, verifyClientData } from './verification.ts';

/** The passkeys of the account, one of which has to be touched; none if a recent sign-in counts instead. */
const touchable = async (ctx: Context, on: Executor, userId: string) =>
  ctx.config.approval === 'recent' ? [] : store.listPasskeys(on, { user_id: userId });

/** The session and the act that a challenge is for. It is part of the challenge, so that one for another act can be spent. */
const purposeOf = ({ sessionId }: Caller, act: Act): string =>
  sha256('touch', canonicalJson([sessionId, act])).toString('base64url');

const purposeCharacters = 43;

const touchRequired = () =>
  insufficientAuthentication(
    'This operation must be confirmed with a passkey of the account.',
    0,
  ).withMembers({ passkey_required: true });

export const touches: Touches = {
  async offer(ctx, caller, act) {
    const passkeys = await touchable(ctx, ctx.db.read, caller.userId);
    if (passkeys.length === 0) return null;
    const purpose = purposeOf(caller, act);
    return {
      challenge: issueChallenge(ctx, 'touch', purpose) + purpose,
      timeout: challengeTtlMs,
      rpId: ctx.config.rpId,
      allowCredentials: passkeys.map(descriptorOf),
      userVerification: 'required',
    };
  },

  async require(ctx, caller, touch, on = ctx.db.read) {
    const isTouchNeeded = (await touchable(ctx, on, caller.userId)).length > 0;
    if (!isTouchNeeded) requireRecentSignIn(ctx, caller);
    else if (!touch) throw touchRequired();
    return isTouchNeeded;
  },

  async confirm(ctx, by, touch, describe, work) {
    const { caller, client } = by;
    if (touch) await ctx.limiter.take(byClient('passkey_responses', client));
    const decided = await ctx.db.transaction(async (tx) => {
      const act = await describe(tx);
      // Before the account is locked, as every challenge is spent.
      const judged = touch ? await judge(ctx, tx, by, act, touch) : null;
      const account = await lockAccountAs(ctx, tx, caller);
      const isTouched = await touches.require(ctx, caller, touch, tx);
      if (!isTouched || !act) return work(tx, { account, passkeyId: null });
      return judged instanceof AuthError ? judged : work(tx, { account, passkeyId: judged });
    });
    if (!(decided instanceof AuthError)) return decided;
    const { userId } = caller;
    recordFailure(ctx, 'passkey', client, { by: userId, findUserId: async () => userId });
    return countingFailures(ctx, 'passkey', async () => {
      throw decided;
    });
  },
};

/**
 * Spends the challenge of a touch, and returns the passkey that proves the act, or the refusal: the challenge stays spent. Without an act
 * it proves nothing.
 */
async function judge(
  ctx: Context,
  tx: Executor,
  { caller, client }: Requester,
  act: Act | undefined,
  touch: AuthenticationResponse,
): Promise<string | AuthError> {
  try {
    const clientData = parseClientData(touch.response.clientDataJSON);
    const purpose = clientData.challenge.slice(-purposeCharacters);
    const handle = clientData.challenge.slice(0, -purposeCharacters);
    const challenge = verifyChallenge(ctx, 'touch', handle, purpose);
    if (!(await spendChallenge(tx, challenge))) throw ceremonyRefused('replay');
    if (!act || purpose !== purposeOf(caller, act)) throw ceremonyRefused('foreign_challenge');
    verifyClientData(ctx.config, clientData, 'webauthn.get');
    const [passkey] = await store.findCredential(tx, { id: touch.id });
    if (passkey?.user_id !== caller.userId) throw ceremonyRefused('unknown_credential');
    // The passkeys of the account were named, so the authenticator need not say whose this is. @see WebAuthn Level 3 section 7.2
    const userHandle = touch.response.userHandle ?? passkey.webauthn_user_handle;
    const named = { ...touch, response: { ...touch.response, userHandle } };
    const verified = verifyAuthentication(ctx.config, named, passkey);
    const use = { id: passkey.id, user_id: passkey.user_id, ...verified, now: ctx.clock() };
    const outcome = await recordUse(ctx, tx, use, client);
    if (outcome !== 'accepted') throw ceremonyRefused(outcome === 'clone' ? 'clone' : 'unknown_credential');
    return passkey.id;
  } catch (error) {
    if (error instanceof AuthError && error.status < 500) return error;
    throw error;
  }
}
