import type { Profile } from '@latchkey/contract/account';
import type { PendingDevice } from '@latchkey/contract/device';
import type { emailChangeSent } from '@latchkey/contract/email-change';
import type { endpoints } from '@latchkey/contract/endpoints';
import type { ErrorBody, ErrorCode } from '@latchkey/contract/errors';
import type { magicLinkSent } from '@latchkey/contract/magic-links';
import type { DisownedNotice } from '@latchkey/contract/notices';
import type {
  AuthenticationResponse,
  CreationOptions,
  Passkey,
  RegistrationResponse,
  RequestOptions,
} from '@latchkey/contract/passkeys';
import type { Session, sessionList } from '@latchkey/contract/sessions';
import type { CeremonyFailure } from './passkeys/failure.ts';

/**
 * Why something did not succeed. `code` is the server's own, or the browser's about a passkey, or `unreachable`
 * when no answer that can be understood came back; then it is unknown whether the call took effect.
 */
export interface Problem {
  readonly code: ErrorCode | CeremonyFailure | 'unreachable';
  /** From `Retry-After`: with 429 and 503. */
  readonly retryAfterSeconds?: number;
}

export type Result<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: Problem };

type MagicLinkSent = ReturnType<typeof magicLinkSent.parse>;
type EmailChangeSent = ReturnType<typeof emailChangeSent.parse>;
type SessionPage = ReturnType<typeof sessionList.parse>;
type MagicLinkProof = { token: string; email: string } | { request: string; code: string };

/** The operations the pages use. Only the type of the contract is imported, so its schemas stay out of the bundle. */
const routes = {
  requestMagicLink: { method: 'post', path: '/api/v1/auth/magic_link' },
  verifyMagicLink: { method: 'post', path: '/api/v1/auth/magic_link/verify' },
  verifyDevice: { method: 'post', path: '/api/v1/auth/device/verify' },
  approveDevice: { method: 'post', path: '/api/v1/auth/device/approve' },
  denyDevice: { method: 'post', path: '/api/v1/auth/device/deny' },
  startPasskeyRegistration: { method: 'post', path: '/api/v1/auth/passkey/register/challenge' },
  registerPasskey: { method: 'post', path: '/api/v1/auth/passkey/register' },
  startPasskeyLogin: { method: 'post', path: '/api/v1/auth/passkey/login/challenge' },
  loginWithPasskey: { method: 'post', path: '/api/v1/auth/passkey/login' },
  listPasskeys: { method: 'get', path: '/api/v1/auth/passkeys' },
  renamePasskey: { method: 'patch', path: '/api/v1/auth/passkeys/{id}' },
  removePasskey: { method: 'delete', path: '/api/v1/auth/passkeys/{id}' },
  getProfile: { method: 'get', path: '/api/v1/auth/me' },
  deleteAccount: { method: 'delete', path: '/api/v1/auth/me' },
  requestEmailChange: { method: 'post', path: '/api/v1/auth/me/email' },
  verifyEmailChange: { method: 'post', path: '/api/v1/auth/me/email/verify' },
  disownNotice: { method: 'post', path: '/api/v1/auth/notices/disown' },
  listSessions: { method: 'get', path: '/api/v1/auth/sessions' },
  revokeSession: { method: 'delete', path: '/api/v1/auth/sessions/{id}' },
  logout: { method: 'delete', path: '/api/v1/auth/logout' },
} as const satisfies { [Id in keyof typeof endpoints]?: Pick<(typeof endpoints)[Id], 'method' | 'path'> };

interface Call {
  readonly id?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object;
}

const requestTimeoutMilliseconds = 20_000;
const unreachable: Problem = { code: 'unreachable' };

async function call<T>(operation: keyof typeof routes, { id, query, body }: Call = {}): Promise<Result<T>> {
  const { method, path } = routes[operation];
  const search = query === undefined ? '' : `?${new URLSearchParams(query)}`;
  try {
    const response = await fetch(path.replace('{id}', encodeURIComponent(id ?? '')) + search, {
      method: method.toUpperCase(),
      headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
      credentials: 'same-origin',
      redirect: 'error',
      signal: AbortSignal.timeout(requestTimeoutMilliseconds),
    });
    if (!response.ok) return { ok: false, problem: await problemOf(response) };
    return { ok: true, value: (response.status === 204 ? undefined : await response.json()) as T };
  } catch {
    return { ok: false, problem: unreachable };
  }
}

async function problemOf(response: Response): Promise<Problem> {
  const { error } = (await response.json()) as Partial<ErrorBody>;
  if (typeof error !== 'string') return unreachable;
  const retryAfter = response.headers.get('Retry-After') ?? '';
  return /^\d{1,9}$/.test(retryAfter)
    ? { code: error, retryAfterSeconds: Number(retryAfter) }
    : { code: error };
}

/** Ask for a mail with a link and a code. The `request` that comes back must stay in memory. */
export const requestMagicLink = (email: string) =>
  call<MagicLinkSent>('requestMagicLink', { body: { email } });

/** Sign in; the credential arrives in a cookie that no script can read. */
export const verifyMagicLink = (proof: MagicLinkProof) =>
  call<{ user: Profile }>('verifyMagicLink', { query: { session: 'cookie' }, body: proof });

/** See who asks for a device login. Changes nothing. */
export const verifyDevice = (userCode: string) =>
  call<PendingDevice>('verifyDevice', { body: { user_code: userCode } });

/** Approve or deny the device login, once. */
export const decideDevice = (decision: 'approve' | 'deny', userCode: string) =>
  call<void>(decision === 'approve' ? 'approveDevice' : 'denyDevice', { body: { user_code: userCode } });

/** Options for making a passkey. Needs a recent login. */
export const startPasskeyRegistration = () => call<CreationOptions>('startPasskeyRegistration');

/** Add the passkey that the browser made. */
export const registerPasskey = (body: RegistrationResponse) => call<Passkey>('registerPasskey', { body });

/** Options for signing in with a passkey. Their challenge is good once. */
export const startPasskeyLogin = () => call<RequestOptions>('startPasskeyLogin');

/** Sign in; the credential arrives in a cookie that no script can read. */
export const loginWithPasskey = (body: AuthenticationResponse) =>
  call<{ user: Profile }>('loginWithPasskey', { query: { session: 'cookie' }, body });

/** The user's passkeys, newest first. */
export const listPasskeys = () => call<{ passkeys: Passkey[] }>('listPasskeys');

/** Give a passkey another name. */
export const renamePasskey = (id: string, name: string) =>
  call<Passkey>('renamePasskey', { id, body: { name } });

/** Remove a passkey. Needs a recent login. */
export const removePasskey = (id: string) => call<void>('removePasskey', { id });

/** The profile of whoever is signed in. */
export const getProfile = () => call<Profile>('getProfile');

/** Send a link to a new address. Needs a recent login. */
export const requestEmailChange = (email: string) =>
  call<EmailChangeSent>('requestEmailChange', { body: { email } });

/** Change the address, once, by the token of the link. Needs no login. */
export const verifyEmailChange = (token: string) => call<Profile>('verifyEmailChange', { body: { token } });

/** End the login that a notice tells of. Needs no login. */
export const disownNotice = (token: string) => call<DisownedNotice>('disownNotice', { body: { token } });

/** Delete the account for good. Needs a recent login. */
export const deleteAccount = () => call<void>('deleteAccount');

const sessionPageSize = 100;
const maxSessionPages = 10;

/** The user's newest logins, one page of them. */
export const listNewestSessions = () =>
  call<SessionPage>('listSessions', { query: { limit: String(sessionPageSize) } });

/** The user's logins, newest first, at most a thousand of them. */
export async function listSessions(): Promise<Result<Session[]>> {
  const sessions: Session[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < maxSessionPages; page++) {
    const query: Record<string, string> = {
      limit: String(sessionPageSize),
      ...(cursor === null ? {} : { cursor }),
    };
    const result: Result<SessionPage> = await call<SessionPage>('listSessions', { query });
    if (!result.ok) return result;
    sessions.push(...result.value.sessions);
    cursor = result.value.next_cursor;
    if (cursor === null) break;
  }
  return { ok: true, value: sessions };
}

/** End one login of the user. */
export const revokeSession = (id: string) => call<void>('revokeSession', { id });

/** End this login, or every login of the user. */
export const logout = (scope: 'session' | 'everywhere') =>
  call<void>('logout', scope === 'session' ? { query: { scope } } : {});
