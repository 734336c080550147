import { type Api, createApi, isLoopbackHost, serverOrigin } from '@latchkey/client/api';
import { type CredentialStore, credentialStore } from '@latchkey/client/credentials';
import { LatchkeyError } from '@latchkey/client/errors';
import { openSession, type Session } from '@latchkey/client/session';
import manifest from '../package.json' with { type: 'json' };
import type { ProxySetting } from './config.ts';
import type { Context } from './context.ts';
import { UsageError } from './exit.ts';
import { openStorage, type Place } from './storage.ts';

/** Where the server's address comes from. */
export type ServerSource = 'option' | 'environment' | 'last_login' | 'default';

/** A server and what is stored for it. */
export interface Connection {
  readonly server: string;
  readonly source: ServerSource;
  readonly place: Place;
  readonly store: CredentialStore;
  readonly api: Api;
  readonly session: Session;
}

export const defaultServer = 'http://localhost:8787';

/**
 * The server that this command talks to: `--server`, `LATCHKEY_SERVER`, the one last signed in to, or the default,
 * in this order. Sends nothing yet.
 * @throws {UsageError} also for plain http to another machine; {LatchkeyError} if the credentials cannot be read
 */
export async function connect(ctx: Context): Promise<Connection> {
  const configured = configuredServer(ctx);
  const place = await openStorage(ctx.config);
  const { server, source } = configured ?? (await rememberedServer(place));
  if (isExposed(server, ctx.config.proxies)) {
    const description = `The connection to ${server} is not encrypted: others on the network can read your credentials.`;
    if (!ctx.insecureHttp && !isLoopbackHost(new URL(server).hostname)) {
      throw new UsageError(description, 'Use its https:// address, or allow this with --insecure-http.');
    }
    ctx.output.message({ warning: 'insecure_server', description }, () => [
      `latchkey: Warning: ${description}`,
    ]);
  }
  const store = credentialStore(place.storage, server);
  const api = createApi({ server, userAgent, insecureHttp: ctx.insecureHttp });
  ctx.onConnect(store);
  return { server, source, place, store, api, session: openSession({ api, store }) };
}

/** The command that signs in to the same server. */
export const loginCommand = ({ server, insecureHttp }: Pick<Context, 'server' | 'insecureHttp'>): string =>
  [
    'latchkey login',
    ...(server === undefined ? [] : [`--server ${server}`]),
    ...(insecureHttp ? ['--insecure-http'] : []),
  ].join(' ');

const userAgent = `latchkey/${manifest.version} (${process.platform}; ${process.arch})`;

function configuredServer({ server, config }: Context): Pick<Connection, 'server' | 'source'> | undefined {
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

/**
 * The origin of an address. The default scheme is https, and http for this machine.
 * @throws {TypeError}
 */
function serverAddress(address: string): string {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(address)) return serverOrigin(address);
  const encrypted = serverOrigin(`https://${address}`);
  return isLoopbackHost(new URL(encrypted).hostname) ? serverOrigin(`http://${address}`) : encrypted;
}

async function rememberedServer({ storage }: Place): Promise<Pick<Connection, 'server' | 'source'>> {
  const { current_server: current } = await storage.read();
  if (current === null) return { server: defaultServer, source: 'default' };
  try {
    return { server: serverOrigin(current), source: 'last_login' };
  } catch {
    const message = `The credentials in ${storage.description} are damaged: "current_server" is not the address of a server.`;
    throw new LatchkeyError('store_corrupt', message);
  }
}

/** Whether plain http would go to another machine, or through a proxy on one. */
function isExposed(server: string, proxies: readonly ProxySetting[]): boolean {
  const { protocol, hostname } = new URL(server);
  if (protocol !== 'http:') return false;
  return !isLoopbackHost(hostname) || usesRemoteProxy(hostname, proxies);
}

function usesRemoteProxy(hostname: string, proxies: readonly ProxySetting[]): boolean {
  const setting = (name: string) => proxies.find((proxy) => proxy.name.toUpperCase() === name)?.value;
  const proxy = setting('HTTP_PROXY');
  const direct =
    setting('NO_PROXY')
      ?.split(',')
      .map((name) => name.trim()) ?? [];
  if (proxy === undefined || direct.includes(hostname) || direct.includes('*')) return false;
  return !(URL.canParse(proxy) && isLoopbackHost(new URL(proxy).hostname));
}
