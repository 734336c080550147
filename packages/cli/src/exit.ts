import { LatchkeyError, type LatchkeyErrorCode } from '@latchkey/client/errors';

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
export class AlreadyTold extends Error {
  readonly status: number;

  constructor(status: number) {
    super('The command has told what is wrong.');
    this.status = status;
  }
}

/** Why a command failed, for people and for programs. */
export interface Failure {
  readonly status: number;
  readonly code: LatchkeyErrorCode | 'usage' | 'output_failed' | 'unexpected';
  readonly message: string;
  /** What to do next. */
  readonly hint: string;
  readonly requestId?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
}

/** How the person called, so that a hint can be typed as it stands. */
export interface Called {
  /** `latchkey login`, with `--server` where that was named. */
  readonly login: string;
}

/** One failure for every error. */
export function failureOf(error: unknown, called: Called): Failure {
  if (error instanceof UsageError) {
    const hint = error.hint ?? 'Run `latchkey --help` to see what there is.';
    return { status: exitStatus.usage, code: 'usage', message: error.message, hint };
  }
  if (!(error instanceof LatchkeyError)) {
    const message = `Something unexpected happened: ${error instanceof Error ? error.message : String(error)}`;
    const hint =
      'This is a mistake in the program. Run `latchkey doctor`, and report it with what that says.';
    return { status: exitStatus.refused, code: 'unexpected', message, hint };
  }
  const { code, message, requestId, retryAfterSeconds } = error;
  return {
    status: statusOf(error),
    code,
    // The server's code may be any text, also the name of what every object has.
    message: (Object.hasOwn(sentences, code) ? sentences[code] : undefined) ?? message,
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
    case 'aborted':
      return exitStatus.interrupted;
    default:
      return exitStatus.refused;
  }
}

/** Where a person needs another sentence than a developer. */
const sentences: Partial<Record<LatchkeyErrorCode, string>> = {
  access_denied: 'The login was denied in the browser.',
  expired_token: 'The code has expired before anybody approved it.',
  account_disabled: 'This account has been disabled.',
  invalid_token: 'The server takes this login no more.',
  aborted: 'Interrupted.',
};

function hintOf({ code, retryAfterSeconds }: LatchkeyError, { login }: Called): string {
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
      return `Check the address, the network and the proxy settings with \`latchkey doctor\`, and try again. ${kept}`;
    case 'not_latchkey':
      return `Check the address: --server, LATCHKEY_SERVER, or the server last logged in to. ${kept}`;
    case 'rate_limited':
    case 'server_error':
    case 'temporarily_unavailable':
      return `Try again ${retryAfterSeconds === undefined ? 'in a moment' : `in ${retryAfterSeconds} s`}. ${kept}`;
    case 'lock_timeout':
      return `Another latchkey is at work and has not finished. Try again. ${kept}`;
    case 'store_failed':
      return 'Make the place writable or make room, then try again; `latchkey doctor` shows where it is. Nothing was lost.';
    case 'store_corrupt':
      return 'Your login may still be in it: look before you remove it.';
    case 'not_found':
      return '`latchkey sessions` lists the logins that there are.';
    case 'insufficient_user_authentication':
      return 'Do this in the browser, after signing in there.';
    case 'aborted':
      return 'What the server had been asked by then, it may have done. Nothing is lost.';
    default:
      return 'Nothing was changed. Correct it, and try again; `--help` behind a command says what it takes.';
  }
}
