import { isAbsolute } from 'node:path';
import type { Agent } from '@latchkey/client/agent';
import { type Api, createApi, serverAddress, serverOrigin } from '@latchkey/client/api';
import {
  type CredentialDocument,
  type CredentialStore,
  credentialStore,
  emptyDocument,
  loginNamed,
  loginsAt,
  type ServerLogins,
} from '@latchkey/client/credentials';
import { LatchkeyError } from '@latchkey/client/errors';
import { isLoopbackHost } from '@latchkey/client/internal/loopback';
import { openSession, type Session } from '@latchkey/client/session';
import { openTokenSession } from '@latchkey/client/token-session';
import manifest from '../package.json' with { type: 'json' };
import { accountName } from './account-name.ts';
import type { Config } from './config.ts';
import type { Context, GlobalOptions } from './context.ts';
import { type CredentialKind, UsageError } from './exit.ts';
import { openStorage, type Place } from './storage.ts';

/** Where the address of the server comes from, for people. */
export const sources = {
  option: 'from --server',
  environment: 'from LATCHKEY_SERVER',
  last_login: 'last signed in to',
  default: 'the default',
} as const;

interface Target {
  readonly server: string;
  readonly source: keyof typeof sources;
}

/** A server, and what to send to it. */
export interface Connection extends Target {
  readonly credential: CredentialKind;
  readonly api: Api;
  readonly session: Session;
  /** With `LATCHKEY_AGENT`. */
  readonly agent?: Agent;
  /** Undefined with `LATCHKEY_TOKEN`: nothing stored is then read or written. */
  readonly stored: Stored | undefined;
}

export interface Stored {
  readonly place: Place;
  /** The login that the command uses: `--account`, `LATCHKEY_ACCOUNT`, or the one in use. */
  readonly store: CredentialStore;
  /** All logins, as they were when the command began. */
  readonly held: ServerLogins;
}

export interface StoredConnection extends Connection {
  readonly stored: Stored;
}

/** The variable that the credential comes from, where nothing stored is used. */
export const credentialVariable = ({ credential }: Connection): string =>
  credential === 'agent' ? 'LATCHKEY_AGENT' : 'LATCHKEY_TOKEN';

export const defaultServer = 'http://localhost:8787';

/**
 * The server that this command talks to: `--server`, `LATCHKEY_SERVER`, the one last signed in to, or the default,
 * in this order. Sends nothing yet.
 * @throws {UsageError} for plain http to another machine; {LatchkeyError} if the credentials cannot be read
 */
export function connect(ctx: Context): Promise<Connection> {
  const { token, agent } = ctx.config;
  if (agent !== undefined) return connectWithAgent(ctx, agent);
  return token === undefined ? connectStored(ctx) : connectWithToken(ctx, token);
}

/** The same, for commands that need a stored login. @throws {UsageError} also with `LATCHKEY_TOKEN` */
export async function connectStored(ctx: Context): Promise<StoredConnection> {
  const { token, agent } = ctx.config;
  if (token !== undefined || agent !== undefined) {
    throw new UsageError(
      `${token === undefined ? 'LATCHKEY_AGENT' : 'LATCHKEY_TOKEN'} is set, so stored logins are neither read nor written.`,
      'Unset it to use this command.',
    );
  }
  const place = await openStorage(ctx.config);
  return openStored(ctx, place, await place.storage.read());
}

/** The server, for a command that sends no credential of this machine. */
export async function connectWithoutCredential(ctx: Context): Promise<Api> {
  const { config } = ctx;
  let target = configuredServer(ctx);
  if (!target) {
    if (config.token !== undefined || config.agent !== undefined) throw unnamedServer();
    target = await serverLastUsed(config);
  }
  ctx.onConnect({ server: target.server, credential: 'token' });
  return openApi(ctx, target.server);
}

async function serverLastUsed(config: Config): Promise<Target> {
  // Without a home directory no login can have been stored.
  if (config.home === '' && !isAbsolute(config.credentialsFile)) return fallback;
  const place = await openStorage(config);
  return rememberedServer(await place.storage.read(), place);
}

/** The same as if nothing were stored, for credentials that cannot be read. */
export async function connectWithoutLogins(ctx: Context): Promise<StoredConnection> {
  return openStored(ctx, await openStorage(ctx.config), emptyDocument);
}

function openStored(ctx: Context, place: Place, document: CredentialDocument): StoredConnection {
  const target = configuredServer(ctx) ?? rememberedServer(document, place);
  const api = openApi(ctx, target.server);
  const held = loginsAt(document, target.server);
  const store = credentialStore(place.storage, target.server, accountName(ctx, held));
  const stored: Stored = { place, store, held };
  const credential: CredentialKind = loginNamed(held, store.account)?.kind ?? 'session';
  const hasOtherLogins = Object.keys(held.logins).some((name) => name !== store.account);
  ctx.onConnect({ server: target.server, credential, store, hasOtherLogins });
  return { ...target, credential, api, session: openSession({ api, store }), stored };
}

async function connectWithAgent(ctx: Context, address: string): Promise<Connection> {
  if (ctx.config.token !== undefined || ctx.account !== undefined) {
    const other = ctx.account === undefined ? 'LATCHKEY_TOKEN' : '--account';
    throw new UsageError(
      `LATCHKEY_AGENT and ${other} exclude each other.`,
      'Leave out or unset one of them.',
    );
  }
  ctx.onConnect({ server: 'The agent', credential: 'agent' });
  const { connectAgent, openAgentSession } = await import('@latchkey/client/agent');
  let agent: Agent;
  try {
    agent = await connectAgent(address, ctx.signal);
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(error.message, 'Correct or unset it.');
    throw error;
  }
  const named = configuredServer(ctx);
  if (named && named.server !== agent.server) {
    throw new UsageError(`The agent is signed in to ${agent.server}, not to ${named.server}.`);
  }
  const target: Target = named ?? { server: agent.server, source: 'environment' };
  const api = openApi(ctx, target.server);
  const session = openAgentSession({ api, address });
  const connected = { ...target, credential: 'agent' } as const;
  ctx.onConnect(connected);
  return { ...connected, api, session, agent, stored: undefined };
}

async function connectWithToken(ctx: Context, token: string): Promise<Connection> {
  if (ctx.account !== undefined) {
    throw new UsageError(
      '--account names a stored login, but LATCHKEY_TOKEN is set.',
      'Leave out --account, or unset LATCHKEY_TOKEN.',
    );
  }
  const target = configuredServer(ctx);
  if (!target) throw unnamedServer('LATCHKEY_TOKEN is only sent to a server that you name.');
  const api = openApi(ctx, target.server);
  const session = tokenSession(api, token);
  const connected = { ...target, credential: 'token' } as const;
  ctx.onConnect(connected);
  return { ...connected, api, session, stored: undefined };
}

const unnamedServer = (message = 'No server is named.') =>
  new UsageError(message, 'Name the server with --server or LATCHKEY_SERVER.');

function tokenSession(api: Api, token: string): Session {
  try {
    return openTokenSession({ api, token });
  } catch {
    throw new UsageError('LATCHKEY_TOKEN is not a token.', 'Set it to an access token or a key.');
  }
}

/** @throws {UsageError} for plain http to another machine, and for a proxy that the runtime would ignore */
function openApi(ctx: Context, server: string): Api {
  requireProxyAddresses(ctx.config, server);
  if (isExposed(server)) {
    const description = `The connection to ${server} is not encrypted: others on the network can read your credentials.`;
    if (!ctx.insecureHttp) {
      throw new UsageError(description, 'Use its https:// address, or allow this with --insecure-http.');
    }
    ctx.output.message({ warning: 'insecure_server', description }, () => [
      `latchkey: Warning: ${description}`,
    ]);
  }
  return createApi({ server, userAgent, insecureHttp: ctx.insecureHttp ?? false });
}

function requireProxyAddresses({ proxies }: Config, server: string): void {
  if (isLoopbackHost(new URL(server).hostname)) return;
  const wrong = proxies.find(
    ({ name, value }) => !/^no_proxy$/i.test(name) && !/^[a-z][a-z0-9+.-]*:\/\//i.test(value),
  );
  if (wrong) throw new UsageError(`${wrong.name} has no scheme.`, 'It looks like http://proxy.example:8080.');
}

/** The command that signs in to the same server. */
export const loginCommand = ({ server, account, insecureHttp }: GlobalOptions): string =>
  [
    'latchkey login',
    ...(server === undefined ? [] : [`--server ${server}`]),
    ...(account === undefined ? [] : [`--account ${account}`]),
    ...(insecureHttp ? ['--insecure-http'] : []),
  ].join(' ');

const userAgent = `latchkey/${manifest.version} (${process.platform}; ${process.arch})`;

function configuredServer({ server, config }: Context): Target | undefined {
  const [name, address, source] =
    server === undefined
      ? (['LATCHKEY_SERVER', config.server, 'environment'] as const)
      : (['--server', server, 'option'] as const);
  if (address === undefined) return undefined;
  try {
    return { server: serverAddress(address), source };
  } catch {
    throw new UsageError(
      `${name} must be the http or https address of a server, without a path.`,
      'It looks like https://login.example or login.example:8443.',
    );
  }
}

const fallback: Target = { server: defaultServer, source: 'default' };

function rememberedServer({ current_server: current }: CredentialDocument, { storage }: Place): Target {
  if (current === null) return fallback;
  try {
    return { server: serverOrigin(current), source: 'last_login' };
  } catch {
    const message = `The credentials in ${storage.description} are damaged: "current_server" is not the address of a server.`;
    throw new LatchkeyError('store_corrupt', message);
  }
}

/** Whether what is sent to it crosses the network unencrypted. */
function isExposed(server: string): boolean {
  const { protocol, hostname } = new URL(server);
  return protocol === 'http:' && !isLoopbackHost(hostname);
}
