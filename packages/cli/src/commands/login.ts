import { hostname } from 'node:os';
import { type CredentialStore, type StoredLogin, tokenMembers } from '@latchkey/client/credentials';
import { type DeviceLogin, startDeviceLogin } from '@latchkey/client/device-login';
import { hasCode, LatchkeyError } from '@latchkey/client/errors';
import { operations } from '@latchkey/client/operations';
import type { Profile } from '@latchkey/contract/account';
import type { TokenSet } from '@latchkey/contract/tokens';
import { hasBrowser, openBrowser } from '../browser.ts';
import { type Connection, connect } from '../connection.ts';
import type { Context } from '../context.ts';
import { cancellable } from '../exit.ts';
import { countdown, visible } from '../text.ts';

export interface LoginOptions {
  /** `--no-browser` makes it false. */
  readonly browser: boolean;
  readonly deviceName?: string;
}

const clientName = 'Latchkey CLI';
/** The service takes no longer name; only the one that nobody typed is cut. */
const maxNameCharacters = 100;
/** For others to finish what they do with the former login. */
const formerLockMilliseconds = 5_000;
const progressMilliseconds = 1_000;

/** `latchkey login`: by device flow. A login to the same server that was there before is ended when the new one is kept. */
export async function login(ctx: Context, options: LoginOptions): Promise<void> {
  const connection = await connect(ctx);
  const tokens = await cancellable(
    async () =>
      (await connection.store.read().catch(() => null))
        ? 'Login cancelled. Your existing login is unchanged.'
        : 'Login cancelled. Nothing was changed.',
    () => obtainTokens(ctx, connection, options),
  );
  await keep(ctx, connection, tokens);
}

async function obtainTokens(
  ctx: Context,
  { api, place }: Connection,
  options: LoginOptions,
): Promise<TokenSet> {
  const { signal } = ctx;
  // Nobody should approve a login that then cannot be kept.
  await place.storage.lock('document', async () => place.storage.write(await place.storage.read()), {
    signal,
  });
  const deviceName = options.deviceName ?? ownName();
  const started = await startDeviceLogin(api, {
    clientName,
    signal,
    ...(deviceName === '' ? {} : { deviceName }),
  });
  await invite(ctx, started, options);
  return approval(ctx, started);
}

/** This machine's name, without what the service would refuse. */
const ownName = (): string =>
  hostname()
    .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
    .slice(0, maxNameCharacters)
    .trim();

/** Link and code first, whatever else works or not. */
async function invite({ output, config }: Context, started: DeviceLogin, { browser }: LoginOptions) {
  const { userCode, verificationUri, verificationUriComplete, expiresInSeconds, intervalSeconds } = started;
  const told = {
    verification_uri_complete: verificationUriComplete,
    user_code: userCode,
    verification_uri: verificationUri,
    expires_in: expiresInSeconds,
    interval: intervalSeconds,
  };
  output.message(told, () => [
    'To log in, open this link in any browser, on this or another machine:',
    '',
    { bold: verificationUriComplete },
    '',
    'It must show this code:',
    '',
    { bold: userCode },
    '',
  ]);
  if (output.interactive) {
    const { qrCode } = await import('../qr-code.ts');
    output.drawing(qrCode(verificationUriComplete, output.columns));
  }
  if (browser && hasBrowser(config) && (await openBrowser(verificationUriComplete))) {
    output.message({ browser: 'opened' }, () => ['Your browser should have opened it by now.']);
  }
}

/** Waits for the person, and shows the time that is left where somebody looks. */
async function approval({ output, signal }: Context, started: DeviceLogin): Promise<TokenSet> {
  const begun = performance.now();
  let trouble = '';
  const show = () => {
    const left = started.expiresInSeconds - (performance.now() - begun) / 1000;
    output.progress(`Waiting for you to approve it; ${countdown(Math.max(0, left))} left.${trouble}`);
  };
  if (!output.interactive) output.message({ waiting: 'approval' }, () => ['Waiting for you to approve it.']);
  show();
  const timer = setInterval(show, progressMilliseconds);
  try {
    return await started.tokens({
      signal,
      onWait: ({ because }) => {
        const isQuiet = because === undefined || because === 'authorization_pending';
        trouble = isQuiet || because === 'slow_down' ? '' : ' The server does not answer; still trying.';
      },
    });
  } finally {
    clearInterval(timer);
    output.progress();
  }
}

/** Stored before anything else is tried, then told whose it is, and only then the former login is ended. */
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
    former = await exchangeLogins(store, next);
  } catch (error) {
    // A login that nobody holds should not live on.
    await endLogin(connection, next).catch(() => {});
    throw error;
  }
  const profile = await api
    .call('getProfile', { accessToken: tokens.access_token })
    .then(wholeProfile)
    .catch((error: unknown) => (error instanceof LatchkeyError ? error : Promise.reject(error)));
  if (!(profile instanceof LatchkeyError)) {
    const { id, email } = profile;
    await store.replace(next, { ...next, user: { id, email } });
  }
  if (former) await endLogin(connection, former).catch((error: unknown) => tellFormer(ctx, error));
  print(ctx, server, profile);
}

/** @throws {LatchkeyError} `not_latchkey` for an answer that does not say whose the login is */
function wholeProfile(profile: Profile): Profile {
  const { id, email } = Object(profile) as Partial<Profile>;
  if (typeof id === 'string' && typeof email === 'string') return profile;
  throw new LatchkeyError('not_latchkey', 'The answer holds no profile.');
}

/** Puts the new login in the place of the former one, when nobody is just renewing that. */
async function exchangeLogins(store: CredentialStore, next: StoredLogin): Promise<StoredLogin | null> {
  const exchange = async () => {
    const former = await store.read();
    await store.put(next);
    return former;
  };
  try {
    return await store.lockForRefresh(exchange, { timeoutMilliseconds: formerLockMilliseconds });
  } catch (error) {
    if (!hasCode(error, 'lock_timeout')) throw error;
    return exchange();
  }
}

/** Ends the session that a refresh token belongs to, spent or not. @see RFC 7009 */
async function endLogin({ api }: Connection, { refresh_token: token }: StoredLogin): Promise<void> {
  await api.send(operations.revoke.path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ token }).toString(),
  });
}

function tellFormer({ output }: Context, error: unknown): void {
  const description = 'The login that was here before could not be ended.';
  const reason = error instanceof Error ? visible(error.message) : '';
  output.message({ warning: 'former_login_not_ended', description, reason }, () => [
    `latchkey: Warning: ${description} ${reason}`,
    'It is harmless; `latchkey sessions` shows it, and `latchkey sessions revoke ID` ends it.',
  ]);
}

function print({ output }: Context, server: string, profile: Profile | LatchkeyError): void {
  if (!(profile instanceof LatchkeyError)) {
    const { id, email } = profile;
    output.result({ server, user: { id, email } }, () => [`Logged in to ${server} as ${email}.`]);
    return;
  }
  const description = `The login is kept, but who it is could not be asked: ${profile.message}`;
  output.message({ warning: 'user_unknown', description }, () => [
    `latchkey: Warning: ${description}`,
    'Ask again with `latchkey whoami`.',
  ]);
  output.result({ server, user: null }, () => [`Logged in to ${server}.`]);
}
