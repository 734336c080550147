import { hostname } from 'node:os';
import { loginNamed } from '@latchkey/client/credentials';
import { fieldLimits } from '@latchkey/contract/field-limits';
import type { TokenSet } from '@latchkey/contract/tokens';
import { newAccountName } from '../account-name.ts';
import { canComeBack } from '../browser.ts';
import { connectStored, type StoredConnection } from '../connection.ts';
import type { Context } from '../context.ts';
import { UsageError } from '../exit.ts';
import { keepSession } from '../new-login.ts';
import { confirm } from '../prompt.ts';
import { requireText } from '../text-input.ts';

export interface LoginOptions {
  /** False with `--no-browser`. */
  readonly browser: boolean;
  /** Signs in with a code, although a browser could come back to this machine. */
  readonly device?: boolean;
  /** Where the browser comes back to. */
  readonly port?: string;
  readonly deviceName?: string;
  /** Signs in again without asking. */
  readonly yes?: boolean;
}

const maxPort = 65_535;

/** `latchkey login`: ends the session that it replaces once the new one is stored. */
export async function login(ctx: Context, options: LoginOptions): Promise<void> {
  requireText('A device name', options.deviceName, fieldLimits.clientText);
  const port = checkedPort(options.port);
  const account = newAccountName(ctx);
  const connection = await connectStored(ctx);
  const { server, stored } = connection;
  const { account: current } = stored.store;
  if (!options.yes && loginNamed(stored.held, current)) {
    const question = `You are already signed in to ${server} as ${current}. Sign in again?`;
    await confirm(ctx.prompt, question, 'Your existing login is unchanged.');
  }
  await requireWritable(connection, ctx.signal);
  const tokens = await obtainTokens(ctx, connection, options, port);
  await keepSession(ctx, connection, tokens, account);
}

/** @throws {UsageError} */
function checkedPort(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > maxPort) throw new UsageError(`--port takes a number from 1 to ${maxPort}.`);
  return port;
}

/** Fails before a person approves a session that could not be stored. */
const requireWritable = ({ stored: { place } }: StoredConnection, signal: AbortSignal): Promise<void> =>
  place.storage.lock('document', async () => place.storage.write(await place.storage.read()), { signal });

async function obtainTokens(
  ctx: Context,
  connection: StoredConnection,
  { browser, device, deviceName = ownName() }: LoginOptions,
  port: number | undefined,
): Promise<TokenSet> {
  const comesBack = browser && ctx.output.isTerminal && canComeBack(ctx.config);
  if (!device && (port !== undefined || comesBack)) {
    const { loginWithBrowser } = await import('../login-with-browser.ts');
    const tokens = await loginWithBrowser(ctx, connection, deviceName, { opensBrowser: browser, port });
    if (tokens) return tokens;
  }
  const { loginWithCode } = await import('../login-with-code.ts');
  return loginWithCode(ctx, connection, deviceName, browser);
}

/** This machine's name, without anything that the service would refuse. */
const ownName = (): string | undefined =>
  hostname()
    .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
    .slice(0, fieldLimits.clientText)
    .trim() || undefined;
