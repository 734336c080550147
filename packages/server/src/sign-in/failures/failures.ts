import type { Context } from '../../platform/context.ts';
import { AuthError } from '../../platform/errors.ts';
import { networkKey } from '../../platform/values/client-address.ts';
import type { ClientInfo } from '../../platform/values/client-info.ts';
import { type RefusedAttempt, recordLater } from './failure-queue.ts';

/** Why sign-ins are refused, by method. A code of a device is one that a signed-in user types. */
export const signInFailureReasons = {
  magic_link: ['malformed', 'ended', 'account_disabled', 'signup_disabled'],
  email_code: ['malformed', 'wrong_code', 'ended', 'account_disabled', 'signup_disabled'],
  device_code: ['wrong_code'],
  passkey: [
    'client_data',
    'foreign_challenge',
    'expired_challenge',
    'replay',
    'type',
    'origin',
    'cross_origin',
    'unknown_credential',
    'credential_id',
    'user_handle',
    'rp_id',
    'user_presence',
    'user_verification',
    'backup_state',
    'backup_eligibility',
    'signature',
    'clone',
    'account_disabled',
    'other',
  ],
} as const satisfies Record<string, readonly string[]>;
type SignInFailureMethod = keyof typeof signInFailureReasons;

/** Records a refused attempt in the log of the account it was for, if there is one, apart from the response. */
export const recordFailure = (
  ctx: Context,
  method: SignInFailureMethod,
  client: ClientInfo,
  account: Pick<RefusedAttempt, 'by' | 'findUserId'>,
): void => recordLater(ctx, { ...account, method, network: networkKey(client.ipAddress), client });

/** Whether a sign-in was refused for what it presented, not by a rate limit or a failure of the service. */
const isRefusal = (error: unknown): error is AuthError =>
  error instanceof AuthError && error.code !== 'rate_limited' && error.status < 500;

/** Runs an attempt to sign in and counts it in the metrics if it is refused. */
export async function countingFailures<Result>(
  ctx: Context,
  method: SignInFailureMethod,
  attempt: () => Promise<Result>,
): Promise<Result> {
  try {
    return await attempt();
  } catch (error) {
    if (isRefusal(error)) ctx.metrics.signInFailures.inc({ method, reason: reasonOf(method, error) });
    throw error;
  }
}

function reasonOf(method: SignInFailureMethod, { code, detail }: AuthError): string {
  const reasons: readonly string[] = signInFailureReasons[method];
  return [detail, code].find((reason) => reason !== undefined && reasons.includes(reason)) ?? 'other';
}
