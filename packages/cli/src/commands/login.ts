import { hostname } from 'node:os';
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
import { endSession, keepSession } from '../new-login.ts';
import { countdown } from '../text.ts';
import { requireText } from '../text-input.ts';

export interface LoginOptions {
  /** False with `--no-browser`. */
  readonly browser: boolean;
  readonly deviceName?: string;
}

const clientName = 'Latchkey CLI';
const progressMilliseconds = 1_000;
/** After Ctrl-C: for the poll in progress to finish, and then to end a session that it brought. */
const cancelMilliseconds = 2_000;

/** `latchkey login`: signs in by device flow. Ends the session that it replaces once the new one is stored. */
export async function login(ctx: Context, options: LoginOptions): Promise<void> {
  requireText('A device name', options.deviceName, fieldLimits.clientText);
  const account = newAccountName(ctx);
  const connection = await connectStored(ctx);
  const tokens = await obtainTokens(ctx, connection, options);
  await keepSession(ctx, connection, tokens, account);
}

/** @throws {Cancelled} on Ctrl-C, after ending a session that was already started */
async function obtainTokens(
  ctx: Context,
  connection: StoredConnection,
  options: LoginOptions,
): Promise<TokenSet> {
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
  if (output.interactive) {
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

async function cancelled({ stored }: StoredConnection, mayHaveStarted: boolean): Promise<Cancelled> {
  if (mayHaveStarted) {
    return new Cancelled(
      'Login cancelled. If you had already approved it, the new session may exist: see `latchkey sessions`.',
    );
  }
  const isSignedIn = loginNamed(stored.held, stored.held.current ?? undefined) !== null;
  return new Cancelled(
    isSignedIn
      ? 'Login cancelled. Your existing login is unchanged.'
      : 'Login cancelled. Nothing was changed.',
  );
}

async function cancelledAfterApproval(connection: StoredConnection, tokens: TokenSet): Promise<Cancelled> {
  const ended = await endSession(connection, tokens.refresh_token, cancelMilliseconds).then(
    () => true,
    () => false,
  );
  if (!ended) return cancelled(connection, true);
  return new Cancelled('Login cancelled. You had already approved it, and the new session has been ended.');
}
