import { loginNamed, type StoredLogin } from '@latchkey/client/credentials';
import { hasCode, LatchkeyError, type LatchkeyErrorCode } from '@latchkey/client/errors';
import { type Connection, connect, credentialVariable, sources } from '../connection.ts';
import type { Context } from '../context.ts';
import { localTime, table } from '../text.ts';

/** What the server says about the login. */
type State = 'active' | 'none' | 'ended' | 'disabled' | 'unknown';

const stateText: Readonly<Record<State, string>> = {
  active: 'active',
  none: 'not signed in',
  ended: 'no longer accepted by the server',
  disabled: 'the account has been disabled',
  unknown: 'unknown: the server could not be asked',
};

const refusedAs: Partial<Record<LatchkeyErrorCode, State>> = {
  not_logged_in: 'none',
  login_over: 'ended',
  invalid_token: 'ended',
  account_disabled: 'disabled',
};

interface Report {
  readonly state: State;
  readonly user: { readonly id: string; readonly email?: string } | null;
  /** Undefined if the server accepts the login. */
  readonly failure?: unknown;
}

/** `latchkey status`: the login that commands use. Fails like any other command if the server does not accept it. */
export async function status(ctx: Context): Promise<void> {
  const connection = await connect(ctx);
  const { server, source, stored, credential } = connection;
  const login = stored ? loginNamed(stored.held, stored.store.account) : null;
  const { state, user, failure } = await check(ctx, connection, login);
  const expiresAt = login && login.kind !== 'key' ? login.access_token_expires_at : undefined;
  const report = {
    server,
    source,
    account: login ? (stored?.store.account ?? null) : null,
    credential: stored && !login ? null : credential,
    state,
    user,
    logged_in_at: login?.logged_in_at ?? null,
    access_token_expires_at: expiresAt === undefined ? null : new Date(expiresAt).toISOString(),
    accounts: Object.keys(stored?.held.logins ?? {}),
  };
  ctx.output.result(report, () =>
    table([
      ['Server', `${server} (${sources[source]})`],
      ['Account', report.account ?? '-'],
      ['User', user?.email || user?.id || '-'],
      ['Login', describeLogin(connection, login)],
      ['State', stateText[state]],
      ['Accounts', report.accounts.join(', ') || '-'],
    ]),
  );
  if (failure !== undefined) throw failure;
}

async function check(
  { signal }: Context,
  { session }: Connection,
  login: StoredLogin | null,
): Promise<Report> {
  const known = login && login.user.id !== '' ? login.user : null;
  try {
    const { id, email } = await session.call('getProfile', { signal });
    return { state: 'active', user: { id, ...(email === undefined ? {} : { email }) } };
  } catch (failure) {
    if (hasCode(failure, 'aborted') || !(failure instanceof LatchkeyError)) throw failure;
    // The server refuses an invalid credential before it checks what the credential may do.
    if (failure.code === 'insufficient_scope') return { state: 'active', user: known };
    return { state: refusedAs[failure.code] ?? 'unknown', user: known, failure };
  }
}

function describeLogin(connection: Connection, login: StoredLogin | null): string {
  const { stored } = connection;
  if (!stored) return credentialVariable(connection);
  if (!login) return '-';
  const kind = login.kind === 'key' ? 'key' : 'session';
  return `${kind}, since ${localTime(login.logged_in_at)}, in ${stored.place.storage.description}`;
}
