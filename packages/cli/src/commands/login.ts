import { hostname } from 'node:os';
import { type CredentialStore, type StoredLogin, tokenMembers } from '@latchkey/client/credentials';
import { type DeviceLogin, startDeviceLogin, type Wait } from '@latchkey/client/device-login';
import { hasCode, LatchkeyError } from '@latchkey/client/errors';
import { operations } from '@latchkey/client/operations';
import type { Profile, ProfileView } from '@latchkey/contract/account';
import { fieldLimits } from '@latchkey/contract/field-limits';
import type { TokenSet } from '@latchkey/contract/tokens';
import { hasBrowser, openBrowser } from '../browser.ts';
import { type Connection, connect } from '../connection.ts';
import type { Context } from '../context.ts';
import { Cancelled } from '../exit.ts';
import { countdown, visible } from '../text.ts';
import { requireText } from '../text-input.ts';

export interface LoginOptions {
  /** False with `--no-browser`. */
  readonly browser: boolean;
  readonly deviceName?: string;
}

const clientName = 'Latchkey CLI';
/** For other processes to finish refreshing the former session. */
const formerLockMilliseconds = 5_000;
const progressMilliseconds = 1_000;
/** After Ctrl-C: for the poll in progress to finish, and then to end a session that it brought. */
const cancelMilliseconds = 2_000;

/** `latchkey login`: signs in by device flow. Ends the former session with this server once the new one is stored. */
export async function login(ctx: Context, options: LoginOptions): Promise<void> {
  requireText('A device name', options.deviceName, fieldLimits.clientText);
  const connection = await connect(ctx);
  const tokens = await obtainTokens(ctx, connection, options);
  await keep(ctx, connection, tokens);
}

/** @throws {Cancelled} on Ctrl-C, after ending a session that was already started */
async function obtainTokens(ctx: Context, connection: Connection, options: LoginOptions): Promise<TokenSet> {
  const progress: LoginProgress = { mayHaveStarted: false };
  let tokens: TokenSet;
  try {
    await requireWritable(connection, ctx.signal);
    const started = await startLogin(ctx, connection, options);
    await showCode(ctx, started, options);
    tokens = await waitForApproval(ctx, started, progress);
  } catch (error) {
    if (!hasCode(error, 'aborted')) throw error;
    throw await cancelled(connection, progress.mayHaveStarted);
  }
  if (ctx.signal.aborted) throw await cancelledAfterApproval(connection, tokens);
  return tokens;
}

/** Fails before a person approves a session that could not be stored. */
const requireWritable = ({ place: { storage } }: Connection, signal: AbortSignal): Promise<void> =>
  storage.lock('document', async () => storage.write(await storage.read()), { signal });

function startLogin(
  { signal }: Context,
  { api }: Connection,
  { deviceName = ownName() }: LoginOptions,
): Promise<DeviceLogin> {
  return startDeviceLogin(api, { clientName, signal, ...(deviceName === '' ? {} : { deviceName }) });
}

/** This machine's name, without anything that the service would refuse. */
const ownName = (): string =>
  hostname()
    .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
    .slice(0, fieldLimits.clientText)
    .trim();

/** Prints the link and the code before anything else that might fail. */
async function showCode({ output, config }: Context, started: DeviceLogin, { browser }: LoginOptions) {
  const { userCode, verificationUri, verificationUriComplete, expiresInSeconds, intervalSeconds } = started;
  const message = {
    verification_uri_complete: verificationUriComplete,
    user_code: userCode,
    verification_uri: verificationUri,
    expires_in: expiresInSeconds,
    interval: intervalSeconds,
  };
  output.message(message, () => [
    'To sign in, open this link in any browser, on this or another machine:',
    '',
    { bold: verificationUriComplete },
    '',
    'Check that it shows this code:',
    '',
    { bold: userCode },
    '',
  ]);
  if (output.interactive) {
    const { qrCode } = await import('../qr-code.ts');
    output.drawing(qrCode(verificationUriComplete, output.columns));
  }
  if (browser && hasBrowser(config) && (await openBrowser(verificationUriComplete))) {
    output.message({ browser: 'opened' }, () => ['It should have opened in your browser.']);
  }
}

interface LoginProgress {
  /** The response to a poll was lost, and it may have been the one with the tokens. */
  mayHaveStarted: boolean;
}

/** Polls until the person has decided, and shows the time left on a terminal. */
async function waitForApproval(
  { output, signal }: Context,
  started: DeviceLogin,
  progress: LoginProgress,
): Promise<TokenSet> {
  const beganAt = performance.now();
  let note = '';
  const show = () => {
    const left = started.expiresInSeconds - (performance.now() - beganAt) / 1000;
    output.progress(`Waiting for your approval; ${countdown(Math.max(0, left))} left.${note}`);
  };
  if (!output.interactive) output.message({ waiting: 'approval' }, () => ['Waiting for your approval.']);
  show();
  const timer = setInterval(show, progressMilliseconds);
  const grace = abortedLater(signal, cancelMilliseconds);
  try {
    return await started.tokens({
      signal,
      pollSignal: grace.signal,
      onWait: ({ because }) => {
        progress.mayHaveStarted = isOutcomeUnknown(because);
        note = progress.mayHaveStarted ? ' The server does not respond; still trying.' : '';
      },
    });
  } catch (error) {
    progress.mayHaveStarted ||= grace.signal.aborted;
    throw error;
  } finally {
    grace.dispose();
    clearInterval(timer);
    output.progress();
  }
}

/** Whether the last poll may have redeemed the code without its response arriving. */
const isOutcomeUnknown = (because: Wait['because']): boolean =>
  because !== undefined && !['authorization_pending', 'slow_down', 'rate_limited'].includes(because);

/** A signal that is aborted some time after another one. */
function abortedLater(signal: AbortSignal, milliseconds: number) {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const start = () => {
    timer = setTimeout(() => controller.abort(), milliseconds);
  };
  signal.addEventListener('abort', start, { once: true });
  return {
    signal: controller.signal,
    dispose: () => {
      signal.removeEventListener('abort', start);
      clearTimeout(timer);
    },
  };
}

async function cancelled({ store }: Connection, mayHaveStarted: boolean): Promise<Cancelled> {
  if (mayHaveStarted) {
    return new Cancelled(
      'Login cancelled. If you had already approved it, the new session may exist: see `latchkey sessions`.',
    );
  }
  const existing = await store.read().catch(() => null);
  return new Cancelled(
    existing
      ? 'Login cancelled. Your existing session is unchanged.'
      : 'Login cancelled. Nothing was changed.',
  );
}

async function cancelledAfterApproval(connection: Connection, tokens: TokenSet): Promise<Cancelled> {
  const ended = await endSession(connection, tokens.refresh_token, cancelMilliseconds).then(
    () => true,
    () => false,
  );
  if (!ended) return cancelled(connection, true);
  return new Cancelled('Login cancelled. You had already approved it, and the new session has been ended.');
}

/** Stores the session before anything else, then asks whose it is, and only then ends the former one. */
async function keep(ctx: Context, connection: Connection, tokens: TokenSet): Promise<void> {
  const { api, server, store } = connection;
  const next: StoredLogin = {
    server,
    user: { id: '', email: '' },
    logged_in_at: new Date().toISOString(),
    ...tokenMembers(tokens, Date.now()),
  };
  let former: StoredLogin | null;
  try {
    former = await replaceStoredLogin(store, next);
  } catch (error) {
    // A session whose tokens are lost should not stay active.
    await endSession(connection, next.refresh_token).catch(() => {});
    throw error;
  }
  const profile = await api
    .call('getProfile', { accessToken: tokens.access_token })
    .then(checkedProfile)
    .catch((error: unknown) => (error instanceof LatchkeyError ? error : Promise.reject(error)));
  if (!(profile instanceof LatchkeyError)) {
    const { id, email } = profile;
    await store.replace(next, { ...next, user: { id, email } });
  }
  if (former) {
    await endSession(connection, former.refresh_token).catch((error: unknown) => warnOfFormer(ctx, error));
  }
  print(ctx, server, profile);
}

/** @throws {LatchkeyError} `not_latchkey` for a response that does not identify the user */
function checkedProfile(profile: ProfileView): Profile {
  const { id, email } = Object(profile) as Partial<Profile>;
  if (typeof id === 'string' && typeof email === 'string') return profile as Profile;
  throw new LatchkeyError('not_latchkey', 'The response contains no profile.');
}

/** Stores the new session and returns the former one, once no other process is refreshing that. */
async function replaceStoredLogin(store: CredentialStore, next: StoredLogin): Promise<StoredLogin | null> {
  const replace = async () => {
    const former = await store.read();
    await store.put(next);
    return former;
  };
  try {
    return await store.lockForRefresh(replace, { timeoutMilliseconds: formerLockMilliseconds });
  } catch (error) {
    if (!hasCode(error, 'lock_timeout')) throw error;
    return replace();
  }
}

/** Ends the session that a refresh token belongs to, whether or not it is spent. @see RFC 7009 */
async function endSession(
  { api }: Connection,
  refreshToken: string,
  timeoutMilliseconds?: number,
): Promise<void> {
  const init = {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ token: refreshToken }).toString(),
  };
  await api.send(operations.revoke.path, init, timeoutMilliseconds);
}

function warnOfFormer({ output }: Context, error: unknown): void {
  const description = 'Your former session on this machine could not be ended.';
  const reason = error instanceof Error ? visible(error.message) : '';
  output.message({ warning: 'former_login_not_ended', description, reason }, () => [
    `latchkey: Warning: ${description} ${reason}`,
    'End it with `latchkey sessions revoke ID`; `latchkey sessions` shows its ID.',
  ]);
}

function print({ output }: Context, server: string, profile: Profile | LatchkeyError): void {
  if (!(profile instanceof LatchkeyError)) {
    const { id, email } = profile;
    output.result({ server, user: { id, email } }, () => [`Signed in to ${server} as ${email}.`]);
    return;
  }
  const description = `You are signed in, but the server did not say as whom: ${profile.message}`;
  output.message({ warning: 'user_unknown', description }, () => [
    `latchkey: Warning: ${description}`,
    'Run `latchkey whoami` to ask again.',
  ]);
  output.result({ server, user: null }, () => [`Signed in to ${server}.`]);
}
