import type { Context } from '../../platform/context.ts';
import { type AuthError, isRefusal } from '../../platform/errors.ts';
import { type ClientInfo, networkKey } from '../../platform/values/client-address.ts';
import { recordFailedSignIn } from '../../security-log/events/events.ts';

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

// Failed sign-ins are written apart from their responses, and a random moment later: what is written about an account must not show
// in the time of this response or of the next one.

/** The random delay is between these. A crash loses what is still unwritten. */
const minDelayMs = 50;
const maxDelayMs = 300;

/** How many different failures wait at most; further ones are only counted in the metrics. */
export const maxWaiting = 10_000;

/** A refused attempt, before anybody has looked for its account. */
interface RefusedAttempt extends Omit<Parameters<typeof recordFailedSignIn>[2], 'userId' | 'times'> {
  /** What the account is found by. */
  readonly by: string;
  readonly findUserId: () => Promise<string | undefined>;
}

function openQueue(ctx: Context) {
  const waiting = new Map<string, RefusedAttempt & { times: number }>();
  let isDue = false;
  let writing = Promise.resolve();

  const writeOne = async ({ findUserId, ...attempt }: RefusedAttempt & { times: number }): Promise<void> => {
    try {
      const userId = await findUserId();
      if (userId === undefined) return;
      await ctx.db.transaction((tx) => recordFailedSignIn(ctx, tx, { ...attempt, userId }));
    } catch {
      ctx.log.warn('a failed sign-in could not be recorded');
    }
  };

  const writeWaiting = async (): Promise<void> => {
    isDue = false;
    // What comes meanwhile waits for a moment of its own.
    for (const key of [...waiting.keys()]) {
      const attempt = waiting.get(key)!;
      waiting.delete(key);
      await writeOne(attempt);
    }
  };

  /** Writes what waits, after what is being written. Until then it still counts as waiting, however slow the database is. */
  const write = (): Promise<void> => {
    writing = writing.then(writeWaiting);
    return writing;
  };

  const add = (attempt: RefusedAttempt): void => {
    const key = JSON.stringify([attempt.method, attempt.network, attempt.by]);
    const same = waiting.get(key);
    if (same) same.times++;
    else if (waiting.size < maxWaiting) waiting.set(key, { ...attempt, times: 1 });
    if (isDue) return;
    isDue = true;
    const delayMs = minDelayMs + Math.random() * (maxDelayMs - minDelayMs);
    void ctx.timers.sleep(delayMs, ctx.stopping).then(write);
  };
  return { add, write };
}

const queues = new WeakMap<Context, ReturnType<typeof openQueue>>();

/** Records a refused attempt in the log of the account it was for, if there is one, apart from the response. */
export function recordFailure(
  ctx: Context,
  method: SignInFailureMethod,
  client: ClientInfo,
  account: Pick<RefusedAttempt, 'by' | 'findUserId'>,
): void {
  const queue = queues.get(ctx) ?? openQueue(ctx);
  queues.set(ctx, queue);
  queue.add({ ...account, method, network: networkKey(client.ipAddress), client });
}

/** Writes the failed sign-ins that wait, at once. */
export const writeFailedSignIns = async (ctx: Context): Promise<void> => queues.get(ctx)?.write();
