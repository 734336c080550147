import { type DeviceLogin, startDeviceLogin, type Wait } from '@latchkey/client/device-login';
import { hasCode, LatchkeyError } from '@latchkey/client/errors';
import { isLoopbackHost } from '@latchkey/client/internal/loopback';
import { plainCode } from '@latchkey/contract/codes';
import type { TokenSet } from '@latchkey/contract/tokens';
import { showInBrowser } from './browser.ts';
import type { StoredConnection } from './connection.ts';
import type { Context } from './context.ts';
import { cancelLogin, showTimeLeft } from './login-wait.ts';

const clientName = 'Latchkey CLI';

/** Quiet modules around a QR code. The standard asks for 4; phones can read it with 2. */
const border = 2;

/** Signs in by device flow. @throws {Cancelled} on Ctrl-C, after cancelling the login at the server */
export async function loginWithCode(
  ctx: Context,
  connection: StoredConnection,
  deviceName: string | undefined,
  opensBrowser: boolean,
): Promise<TokenSet> {
  const { signal } = ctx;
  const question = { isOpen: false };
  const started = await startDeviceLogin(connection.api, {
    clientName,
    signal,
    deviceName,
    askConfirmationCode: ctx.prompt.isPossible
      ? (attempt) => askConfirmationCode(ctx, question, attempt)
      : undefined,
  });
  try {
    await showCode(ctx, started, opensBrowser);
    const tokens = await waitForApproval(ctx, started, question);
    if (!signal.aborted) return tokens;
  } catch (error) {
    if (hasCode(error, ...ends)) throw error;
    const cancelled = await cancelLogin(connection, started);
    throw hasCode(error, 'aborted') ? cancelled : error;
  }
  throw await cancelLogin(connection, started);
}

/** Nothing can be approved after these. */
const ends = ['access_denied', 'expired_token', 'invalid_grant', 'account_disabled'] as const;

interface Question {
  isOpen: boolean;
}

/** The code that the browser shows after an approval from another network. */
async function askConfirmationCode(ctx: Context, question: Question, attempt: number): Promise<string> {
  question.isOpen = true;
  try {
    if (attempt > 1) ctx.output.message({ confirmation: 'wrong' }, () => ['That code is wrong.']);
    for (;;) {
      const typed = await ctx.prompt.ask('Enter the code that your browser shows now:');
      if (typed === undefined) throw new LatchkeyError('aborted', 'The input has ended.');
      const code = plainCode(typed);
      if (code !== '') return code;
    }
  } finally {
    question.isOpen = false;
  }
}

/** Prints the link and the code before anything else that might fail. */
async function showCode(ctx: Context, started: DeviceLogin, opensBrowser: boolean): Promise<void> {
  const { output } = ctx;
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
    { style: 'bold', text: verificationUriComplete },
    '',
    'Check that it shows this code:',
    '',
    { style: 'bold', text: userCode },
    '',
  ]);
  // A phone cannot open an address of this machine.
  if (output.interactive && !isLoopbackHost(new URL(verificationUriComplete).hostname)) {
    const { encode, renderUnicodeCompact } = await import('uqr');
    const code = renderUnicodeCompact(verificationUriComplete, { border });
    if (encode(verificationUriComplete, { border }).size <= output.columns) output.drawing(code);
  }
  if (opensBrowser) await showInBrowser(ctx, verificationUriComplete);
}

/** Polls until the person has decided, and shows the time left on a terminal. */
function waitForApproval(ctx: Context, started: DeviceLogin, question: Question): Promise<TokenSet> {
  let note: string | undefined;
  const onWait = ({ because }: Wait) => {
    note = isWithoutResponse(because) ? 'Server not responding' : undefined;
  };
  const poll = () => started.tokens({ signal: ctx.signal, onWait });
  return showTimeLeft(ctx, 'approval', started, poll, () => (question.isOpen ? null : note));
}

const isWithoutResponse = (because: Wait['because']): boolean =>
  because !== undefined &&
  ['unreachable', 'timeout', 'temporarily_unavailable', 'server_error', 'not_latchkey'].includes(because);
