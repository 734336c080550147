// A touch: the proof of a passkey that its owner agrees to one act, exactly as it was shown. A program that drives somebody's browser can
// press every button in it, but it cannot touch a passkey. `sign-in/passkeys/touch.ts` verifies it, and app.ts passes it on.

import type { AuthenticationResponse, RequestOptions } from '@latchkey/contract/passkeys';
import type { Caller, Context, Requester } from '../platform/context.ts';
import type { Executor } from '../platform/database/executor.ts';
import type { lockAccountAs } from './sessions.ts';

/** What a touch is for, with everything that the person sees of it. */
export interface Act {
  readonly act: 'approve a device' | 'approve an application' | 'create a key';
  readonly shown: unknown;
}

/** The response of a passkey to a challenge for an act. */
export type Touch = AuthenticationResponse | null | undefined;

/** An act of a locked account, about to be done. */
export interface ConfirmedAct {
  readonly account: Awaited<ReturnType<typeof lockAccountAs>>;
  /** The passkey that was touched; null if a recent sign-in was enough. */
  readonly passkeyId: string | null;
}

export interface Touches {
  /** The options for a touch; null if the act needs none. Changes nothing. */
  offer(ctx: Context, caller: Caller, act: Act): Promise<RequestOptions | null>;
  /** Requires that a touch was sent, or a recent sign-in if the account has no passkey. Returns which counts. @see RFC 9470 section 3 */
  require(ctx: Context, caller: Caller, touch: Touch, on?: Executor): Promise<boolean>;
  /**
   * Does something that takes a touch or a recent sign-in, in one transaction. A refused touch only spends its challenge.
   * @param describe what is about to be done; undefined if there is nothing, which `work` has to find, too
   * @throws {AuthError} `insufficient_user_authentication`; `invalid_grant` for a touch that does not prove the act
   */
  confirm<T>(
    ctx: Context,
    by: Requester,
    touch: Touch,
    describe: (tx: Executor) => Promise<Act | undefined>,
    work: (tx: Executor, confirmed: ConfirmedAct) => Promise<T>,
  ): Promise<T>;
}
