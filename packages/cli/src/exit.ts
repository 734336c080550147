import type { CredentialStore } from '@latchkey/client/credentials';
import { hasCode, LatchkeyError, type LatchkeyErrorCode } from '@latchkey/client/errors';
import { optionSentence } from '@latchkey/contract/terminal';

/** The exit statuses, which `packages/cli/README.md` documents. */
export const exitStatus = {
  done: 0,
  refused: 1,
  usage: 2,
  notLoggedIn: 3,
  tryAgain: 4,
  interrupted: 130,
} as const;

/** The command line or a setting is wrong. The message is a sentence; nothing has been done. */
export class UsageError extends Error {
  readonly hint: string | undefined;

  constructor(message: string, hint?: string) {
    super(message);
    this.hint = hint;
  }
}

/** The command failed and has already printed why. */
export class ReportedError extends Error {
  readonly status: number;

  constructor(status: number) {
    super('The command has already reported the error.');
    this.status = status;
  }
}

/** The server does not accept a key that is about to be stored. Nothing has been stored. */
export class KeyRefused extends Error {
  readonly requestId: string | undefined;

  constructor(server: string, requestId: string | undefined) {
    super(`${server} does not accept this key.`);
    this.requestId = requestId;
  }
}

/** The person pressed Ctrl-C. The message says in one sentence what that leaves behind. */
export class Cancelled extends Error {}

/** Runs the work, and reports Ctrl-C with this sentence. */
export async function cancellable<T>(sentence: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw hasCode(error, 'aborted') ? new Cancelled(sentence) : error;
  }
}

/** Runs the work, and reports a `not_found` of the server with this sentence. */
export async function orNotFound<T>(sentence: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!hasCode(error, 'not_found')) throw error;
    const { status, requestId } = error;
    throw new LatchkeyError('not_found', sentence, { status, requestId });
  }
}

/** For an aborted command without a sentence of its own. A lost refresh can be repeated for 10 minutes. */
export async function withCancellation(error: unknown, store: CredentialStore | undefined): Promise<unknown> {
  if (!hasCode(error, 'aborted')) return error;
  const login = await store?.read().catch(() => null);
  return new Cancelled(
    !login || login.kind === 'key' || login.refresh_started_at === undefined
      ? 'Cancelled. Nothing was changed.'
      : 'Cancelled while your session was being refreshed. A later command completes that; after 10 minutes, you may have to sign in again.',
  );
}

/** Why a command failed, for people and for programs. */
export interface Failure {
  readonly status: number;
  readonly code: LatchkeyErrorCode | 'usage' | 'output_failed' | 'unexpected';
  readonly message: string;
  readonly hint?: string | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
}

/** What a command sends: a stored session or key, `LATCHKEY_TOKEN`, or a token of `LATCHKEY_AGENT`. */
export type CredentialKind = 'session' | 'key' | 'token' | 'agent';

export interface Connected {
  readonly server: string;
  readonly credential: CredentialKind;
  /** Undefined with `LATCHKEY_TOKEN` and `LATCHKEY_AGENT`. */
  readonly store?: CredentialStore;
  /** Whether other accounts of the server have a login here. */
  readonly hasOtherLogins?: boolean;
}

/** How the program was called, so that hints can be copied verbatim, and what it has connected to so far. */
interface Invocation extends Partial<Connected> {
  /** `latchkey login`, with `--server` if that was given. */
  readonly login: string;
  /** `latchkey`, with the words of the command: `latchkey sessions revoke`. */
  readonly command: string;
}

/** Translates any error into what is printed. */
export function failureOf(error: unknown, invocation: Invocation): Failure {
  if (error instanceof UsageError) {
    const hint = error.hint ?? `Run \`${invocation.command} --help\` for usage.`;
    return { status: exitStatus.usage, code: 'usage', message: error.message, hint };
  }
  if (error instanceof Cancelled) {
    return { status: exitStatus.interrupted, code: 'aborted', message: error.message };
  }
  if (error instanceof KeyRefused) {
    const { message, requestId } = error;
    const hint = 'It has expired, was removed, or is for another server. Nothing was changed.';
    return { status: exitStatus.refused, code: 'invalid_token', message, hint, requestId };
  }
  if (!(error instanceof LatchkeyError)) {
    const message = `Unexpected error: ${error instanceof Error ? error.message : String(error)}`;
    const hint = isDoctor(invocation)
      ? 'This is a bug. Please report it with this output.'
      : 'This is a bug. Please report it with the output of `latchkey doctor`.';
    return { status: exitStatus.refused, code: 'unexpected', message, hint };
  }
  const { code, requestId, retryAfterSeconds } = error;
  return {
    status: statusOf(error),
    code,
    message: messageOf(error, invocation),
    hint: hintOf(error, invocation),
    requestId,
    retryAfterSeconds,
  };
}

const isDoctor = ({ command }: Invocation): boolean => command === 'latchkey doctor';

function statusOf(error: LatchkeyError): number {
  if (error.retryable || error.code === 'store_failed') return exitStatus.tryAgain;
  const isOver = hasCode(error, 'not_logged_in', 'login_over', 'invalid_token');
  return isOver ? exitStatus.notLoggedIn : exitStatus.refused;
}

/** The error's message, or another one where the service's is for developers. */
function messageOf(
  { code, message, requestId, status, namedServer }: LatchkeyError,
  { server = 'The server', credential = 'session' }: Invocation,
): string {
  switch (code) {
    case 'access_denied':
      return status === undefined ? message : 'The request was denied in the browser.';
    case 'expired_token':
      return 'The code expired before it was approved.';
    case 'account_disabled':
      return 'This account has been disabled.';
    case 'invalid_token':
      return refusedCredential[credential](server);
    case 'temporarily_unavailable':
      // Without a request ID it comes from a proxy, and its message names the server.
      return requestId === undefined ? message : `${server} is temporarily unavailable.`;
    case 'wrong_address':
      return namedServer === undefined
        ? message
        : `${server} says that its address is ${namedServer}. If that is where you want to sign in, give --server ${namedServer}.`;
    default:
      return optionSentence(message);
  }
}

const refusedCredential: Readonly<Record<CredentialKind, (server: string) => string>> = {
  session: (server) => `${server} no longer accepts this session.`,
  key: (server) => `${server} no longer accepts the key of this login.`,
  token: (server) => `${server} does not accept the token in LATCHKEY_TOKEN.`,
  agent: (server) => `${server} does not accept the token of the agent.`,
};

const refusedCredentialHint: Readonly<Record<CredentialKind, (login: string) => string>> = {
  session: (login) => `It was ended elsewhere, or not used for too long. Sign in again with \`${login}\`.`,
  key: (login) => `It has expired or was removed. Sign in again with \`${login}\`.`,
  token: () =>
    'It has expired, was revoked, or is for another server. Set LATCHKEY_TOKEN to a new one, or unset it.',
  agent: () => 'Sign in where the agent runs, and start it again: it does not switch to a newer login.',
};

const kept = 'Your stored logins are kept.';

/** The advice, with what matters to a person who has a stored login. */
const keeping = (advice: string, { credential }: Invocation): string =>
  credential === 'token' || credential === 'agent' ? advice : `${advice} ${kept}`;

function hintOf(error: LatchkeyError, invocation: Invocation): string {
  const { login, command, credential = 'session' } = invocation;
  switch (error.code) {
    case 'not_logged_in':
      return invocation.hasOtherLogins
        ? `Sign in with \`${login}\`, or use another account: \`latchkey accounts\` lists them.`
        : `Sign in with \`${login}\`.`;
    case 'login_over':
    case 'invalid_token':
      return refusedCredentialHint[credential](login);
    case 'account_disabled':
      return 'Ask the administrator of the server to enable it again.';
    case 'access_denied':
      return `No session was started. Start again with \`${login}\`.`;
    case 'expired_token':
      return `Start again with \`${login}\`.`;
    case 'unreachable':
    case 'timeout':
      if (credential === 'agent') return 'Check that the agent runs and reaches the server, and try again.';
      return keeping(
        `Check the address, the network and the proxy settings${isDoctor(invocation) ? '' : ' with `latchkey doctor`'}, and try again.`,
        invocation,
      );
    case 'not_latchkey':
      return keeping(
        'Check the address: --server, LATCHKEY_SERVER, or the server last signed in to.',
        invocation,
      );
    case 'wrong_address':
      return keeping('No sign-in was started: it might end up at a server that you do not see.', invocation);
    case 'rate_limited':
    case 'server_error':
    case 'temporarily_unavailable':
      return keeping(
        `Try again ${error.retryAfterSeconds === undefined ? 'in a moment' : `in ${error.retryAfterSeconds} s`}.`,
        invocation,
      );
    case 'lock_timeout':
      return `Another latchkey process is still running. Try again. ${kept}`;
    case 'store_failed':
      if (error.obstacle !== undefined) {
        // A sign-out that has ended the session has the failure of the store as its cause.
        const hasEnded = hasCode(error.cause, 'store_failed');
        return `${storageHints[error.obstacle]}${hasEnded ? '' : ` ${kept}`}`;
      }
      return isDoctor(invocation) ? kept : `Run \`latchkey doctor\` to check your credentials. ${kept}`;
    case 'store_corrupt':
      return 'Your logins may still be in it, so look before you remove it.';
    case 'not_found': {
      const [, listed] = /^latchkey (keys|sessions)/.exec(command) ?? [];
      return listed ? `Run \`latchkey ${listed}\` to list your ${listed}.` : forUsage(command);
    }
    case 'invalid_scope':
      return credential === 'agent'
        ? 'Start the agent with --scope, or name a scope that it hands out.'
        : forUsage(command);
    case 'unauthorized_client':
      return `Use a browser that reaches a port of this machine: \`${login} --port NUMBER\`.`;
    case 'insufficient_scope':
      return 'Its scope is too narrow. Use a login or a token that allows more. Nothing was changed.';
    case 'insufficient_user_authentication':
      return 'Do this on your account page in the browser.';
    default:
      return forUsage(command);
  }
}

const forUsage = (command: string): string => `Nothing was changed. Run \`${command} --help\` for usage.`;

/** What helps, by what is in the way. */
const storageHints: Readonly<Record<NonNullable<LatchkeyError['obstacle']>, string>> = {
  permission: 'Make it writable and try again.',
  read_only_file_system: 'Set XDG_CONFIG_HOME to a directory that can be written, or use LATCHKEY_TOKEN.',
  mounted_file:
    'Mount its directory in the place of the file, or set XDG_CONFIG_HOME to a directory that can be written.',
  space: 'Free some space and try again.',
  path: 'Move the existing file away, or set XDG_CONFIG_HOME to another directory.',
  keychain: 'Start or unlock the keychain and try again, or set LATCHKEY_CREDENTIALS=file to use a file.',
};
