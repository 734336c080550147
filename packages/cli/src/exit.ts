import { hasCode, LatchkeyError, type LatchkeyErrorCode } from '@latchkey/client/errors';

/** What a script learns from the exit status. `packages/cli/README.md` says it to people. */
export const exitStatus = {
  done: 0,
  refused: 1,
  usage: 2,
  notLoggedIn: 3,
  tryAgain: 4,
  interrupted: 130,
} as const;

/** The command was not understood, or a setting is wrong. The message is a sentence; nothing was done. */
export class UsageError extends Error {
  readonly hint: string | undefined;

  constructor(message: string, hint?: string) {
    super(message);
    this.hint = hint;
  }
}

/** The command failed, and what it printed says why. */
export class ReportedError extends Error {
  readonly status: number;

  constructor(status: number) {
    super('The command has told what is wrong.');
    this.status = status;
  }
}

/** The person pressed Ctrl-C. The message says in one sentence what is true of that. */
class Cancelled extends Error {}

/** Does the work. Where the person stops it, that is told in this sentence. */
export async function cancellable<T>(
  sentence: string | (() => Promise<string>),
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!hasCode(error, 'aborted')) throw error;
    throw new Cancelled(typeof sentence === 'string' ? sentence : await sentence());
  }
}

/** Why a command failed, for people and for programs. */
export interface Failure {
  readonly status: number;
  readonly code: LatchkeyErrorCode | 'usage' | 'output_failed' | 'unexpected';
  readonly message: string;
  /** What to do next, where there is something. */
  readonly hint?: string | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
}

/** How the person called, so that a hint can be typed as it stands. */
export interface CommandContext {
  /** `latchkey login`, with `--server` where that was named. */
  readonly login: string;
  /** It is `latchkey doctor` that tells of the failure. */
  readonly isDoctor?: boolean;
}

/** One failure for every error. */
export function failureOf(error: unknown, called: CommandContext): Failure {
  if (error instanceof UsageError) {
    const hint = error.hint ?? 'Run `latchkey --help` to see what there is.';
    return { status: exitStatus.usage, code: 'usage', message: error.message, hint };
  }
  if (error instanceof Cancelled || hasCode(error, 'aborted')) {
    const message = error instanceof Cancelled ? error.message : 'Cancelled. Nothing was changed.';
    return { status: exitStatus.interrupted, code: 'aborted', message };
  }
  if (!(error instanceof LatchkeyError)) {
    const message = `Something unexpected happened: ${error instanceof Error ? error.message : String(error)}`;
    const hint = called.isDoctor
      ? 'This is a bug. Report it with this output.'
      : 'This is a bug. Report it with the output of `latchkey doctor`.';
    return { status: exitStatus.refused, code: 'unexpected', message, hint };
  }
  const { code, message, requestId, retryAfterSeconds } = error;
  return {
    status: statusOf(error),
    code,
    // The server's code may be any text, also the name of what every object has.
    message: (Object.hasOwn(messages, code) ? messages[code] : undefined) ?? message,
    hint: hintOf(error, called),
    requestId,
    retryAfterSeconds,
  };
}

function statusOf(error: LatchkeyError): number {
  if (error.retryable || error.code === 'store_failed') return exitStatus.tryAgain;
  switch (error.code) {
    case 'not_logged_in':
    case 'login_over':
    case 'invalid_token':
      return exitStatus.notLoggedIn;
    default:
      return exitStatus.refused;
  }
}

/** Where a person needs another sentence than a developer. */
const messages: Partial<Record<LatchkeyErrorCode, string>> = {
  access_denied: 'The login was denied in the browser.',
  expired_token: 'The code has expired before anybody approved it.',
  account_disabled: 'This account has been disabled.',
  invalid_token: 'The server takes this login no more.',
};

function hintOf(
  { code, retryAfterSeconds }: LatchkeyError,
  { login, isDoctor = false }: CommandContext,
): string {
  const kept = 'Stored logins are kept.';
  switch (code) {
    case 'not_logged_in':
      return `Log in with \`${login}\`.`;
    case 'login_over':
    case 'invalid_token':
      return `It was ended elsewhere, or not used for too long. Log in again with \`${login}\`.`;
    case 'account_disabled':
      return 'Ask whoever runs the server to enable it again.';
    case 'access_denied':
      return `If that was not you, nothing has happened. Start again with \`${login}\`.`;
    case 'expired_token':
      return `Start again with \`${login}\`.`;
    case 'unreachable':
    case 'timeout':
      return `Check the address, the network and the proxy settings${isDoctor ? '' : ' with `latchkey doctor`'}, and try again. ${kept}`;
    case 'not_latchkey':
      return `Check the address: --server, LATCHKEY_SERVER, or the server last logged in to. ${kept}`;
    case 'rate_limited':
    case 'server_error':
    case 'temporarily_unavailable':
      return `Try again ${retryAfterSeconds === undefined ? 'in a moment' : `in ${retryAfterSeconds} s`}. ${kept}`;
    case 'lock_timeout':
      return `Another latchkey is at work and has not finished. Try again. ${kept}`;
    case 'store_failed':
      return `Make the place writable or make room, then try again${isDoctor ? '' : '; `latchkey doctor` shows where it is'}. Nothing was lost.`;
    case 'store_corrupt':
      return 'Your login may still be in it: look before you remove it.';
    case 'not_found':
      return '`latchkey sessions` lists the logins that there are.';
    case 'insufficient_user_authentication':
      return 'Do this in the browser, after signing in there.';
    default:
      return 'Nothing was changed. Correct it, and try again; `--help` behind a command says what it takes.';
  }
}
