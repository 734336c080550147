import { type BrowserLogin, startBrowserLogin } from '@latchkey/client/browser-login';
import { hasCode, LatchkeyError } from '@latchkey/client/errors';
import { unlessAborted } from '@latchkey/client/internal/clock';
import type { TokenSet } from '@latchkey/contract/tokens';
import { hasBrowser, openBrowser } from './browser.ts';
import type { StoredConnection } from './connection.ts';
import type { Context } from './context.ts';
import { cancelLogin, showTimeLeft } from './login-wait.ts';

/**
 * Signs in with a browser that comes back to this machine. Undefined if it cannot: the reason has been reported, and a
 * code is the way that is left.
 * @param port the port to come back to, which may be forwarded from another machine
 * @throws {Cancelled} on Ctrl-C
 */
export async function loginWithBrowser(
  ctx: Context,
  connection: StoredConnection,
  deviceName: string | undefined,
  { opensBrowser, port }: { readonly opensBrowser: boolean; readonly port: number | undefined },
): Promise<TokenSet | undefined> {
  const { config, signal } = ctx;
  let started: BrowserLogin | undefined;
  try {
    const login = await startBrowserLogin(connection.api, { signal, deviceName, port });
    started = login;
    showLink(ctx, login, port);
    const isOpened =
      opensBrowser &&
      hasBrowser(config) &&
      (await unlessAborted(openBrowser(config, login.authorizationUrl), signal));
    if (port === undefined && !isOpened) {
      await login.cancel();
      return useCode(ctx, 'The browser could not be opened.');
    }
    const tokens = await showTimeLeft(ctx, 'browser', login, () => login.tokens({ signal }));
    if (!signal.aborted) return tokens;
  } catch (error) {
    if (hasCode(error, 'browser_login_unavailable', 'expired_token')) return useCode(ctx, error.message);
    if (!started || !hasCode(error, 'aborted')) throw error;
  }
  throw await cancelLogin(connection, started);
}

function useCode({ output, signal }: Context, description: string): undefined {
  if (signal.aborted) throw new LatchkeyError('aborted', 'The login was cancelled.');
  output.message({ browser_login: 'failed', description }, () => [
    `${description} Signing in with a code instead.`,
    '',
  ]);
}

function showLink({ output }: Context, started: BrowserLogin, port: number | undefined): void {
  const { authorizationUrl, expiresInSeconds } = started;
  output.message({ authorization_url: authorizationUrl, expires_in: expiresInSeconds }, () => [
    port === undefined
      ? 'Continue in your browser. If it does not open, open this link on this machine:'
      : `To sign in, open this link in a browser that reaches port ${port} of this machine as its own:`,
    '',
    { style: 'bold', text: authorizationUrl },
    '',
    'On a machine without a browser, use `latchkey login --device`.',
  ]);
}
