import { hostname } from 'node:os';
import { isLoopbackHost } from '@latchkey/client/api';
import { loginNamed } from '@latchkey/client/credentials';
import { type DeviceLogin, startDeviceLogin, type Wait } from '@latchkey/client/device-login';
import { hasCode } from '@latchkey/client/errors';
import { fieldLimits } from '@latchkey/contract/field-limits';
import type { TokenSet } from '@latchkey/contract/tokens';
import { newAccountName } from '../account-name.ts';
import { hasBrowser, openBrowser } from '../browser.ts';
import { copyToClipboard } from '../clipboard.ts';
import { connectStored, type StoredConnection } from '../connection.ts';
import type { Context } from '../context.ts';
import { Cancelled } from '../exit.ts';
import { keepSession } from '../new-login.ts';
import { confirm } from '../prompt.ts';
import { countdown } from '../text.ts';
import { requireText } from '../text-input.ts';

export interface LoginOptions {
  /** False with `--no-browser`. */
  readonly browser: boolean;
  readonly deviceName?: string;
  /** Signs in again without asking. */
  readonly yes?: boolean;
}

const clientName = 'Latchkey CLI';
const progressMilliseconds = 1_000;
/** For the server to confirm after Ctrl-C that the code can no longer be approved. */
const cancelMilliseconds = 2_000;

/** `latchkey login`: signs in by device flow. Ends the session that it replaces once the new one is stored. */
export async function login(ctx: Context, options: LoginOptions): Promise<void> {
  requireText('A device name', options.deviceName, fieldLimits.clientText);
  const account = newAccountName(ctx);
  const connection = await connectStored(ctx);
  if (!options.yes) await confirmAnotherLogin(ctx, connection);
  await requireWritable(connection, ctx.signal);
  const tokens = await obtainTokens(ctx, connection, options);
  await keepSession(ctx, connection, tokens, account);
}

async function confirmAnotherLogin(
  { prompt }: Context,
  { server, stored: { held, store } }: StoredConnection,
): Promise<void> {
  if (!loginNamed(held, store.account)) return;
  const question = `You are already signed in to ${server} as ${store.account}. Sign in again?`;
  await confirm(prompt, question, 'Your existing login is unchanged.');
}

/** @throws {Cancelled} on Ctrl-C, after cancelling the login at the server */
async function obtainTokens(
  ctx: Context,
  connection: StoredConnection,
  options: LoginOptions,
): Promise<TokenSet> {
  const started = await startLogin(ctx, connection, options);
  try {
    await showCode(ctx, started, options);
    const tokens = await waitForApproval(ctx, started);
    if (!ctx.signal.aborted) return tokens;
  } catch (error) {
    if (!hasCode(error, 'aborted')) throw error;
  }
  throw await cancelled(connection, started);
}

/** Fails before a person approves a session that could not be stored. */
const requireWritable = ({ stored: { place } }: StoredConnection, signal: AbortSignal): Promise<void> =>
  place.storage.lock('document', async () => place.storage.write(await place.storage.read()), { signal });

function startLogin(
  { signal }: Context,
  { api }: StoredConnection,
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
  // A phone cannot open an address of this machine.
  if (output.interactive && !isLoopbackHost(new URL(verificationUriComplete).hostname)) {
    const { qrCode } = await import('../qr-code.ts');
    output.drawing(qrCode(verificationUriComplete, output.columns));
  }
  if (!browser || !hasBrowser(config)) return;
  if (output.interactive && (await copyToClipboard(userCode))) {
    output.message({ clipboard: 'code' }, () => ['The code is on your clipboard.']);
  }
  if (await openBrowser(verificationUriComplete)) {
    output.message({ browser: 'opened' }, () => ['It should have opened in your browser.']);
  }
}

/** Polls until the person has decided, and shows the time left on a terminal. */
async function waitForApproval({ output, signal }: Context, started: DeviceLogin): Promise<TokenSet> {
  const beganAt = performance.now();
  let note = '';
  const show = () => {
    const left = started.expiresInSeconds - (performance.now() - beganAt) / 1000;
    output.progress(`Waiting for your approval; ${countdown(Math.max(0, left))} left.${note}`);
  };
  if (!output.interactive) output.message({ waiting: 'approval' }, () => ['Waiting for your approval.']);
  show();
  const timer = setInterval(show, progressMilliseconds);
  try {
    return await started.tokens({
      signal,
      onWait: ({ because }) => {
        note = isWithoutResponse(because) ? ' The server does not respond; still trying.' : '';
      },
    });
  } finally {
    clearInterval(timer);
    output.progress();
  }
}

const isWithoutResponse = (because: Wait['because']): boolean =>
  because !== undefined && !['authorization_pending', 'slow_down', 'rate_limited'].includes(because);

/** Cancels the login, and a session that it has already started. */
async function cancelled({ stored }: StoredConnection, started: DeviceLogin): Promise<Cancelled> {
  try {
    await started.cancel(cancelMilliseconds);
  } catch {
    return new Cancelled(
      'Login cancelled, but the server does not respond. Do not approve the code; if you already have, look for the new session with `latchkey sessions`.',
    );
  }
  const isSignedIn = loginNamed(stored.held, stored.held.current ?? undefined) !== null;
  return new Cancelled(
    isSignedIn
      ? 'Login cancelled. Your existing login is unchanged.'
      : 'Login cancelled. Nothing was changed.',
  );
}
