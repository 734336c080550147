import { type Api, createApi, isLoopbackHost, serverOrigin } from '@latchkey/client/api';
import { type CredentialStore, credentialStore } from '@latchkey/client/credentials';
import { LatchkeyError } from '@latchkey/client/errors';
import { openSession, type Session } from '@latchkey/client/session';
import manifest from '../package.json' with { type: 'json' };
import type { ProxySetting } from './config.ts';
import type { Context } from './context.ts';
import { UsageError } from './exit.ts';
import { openStorage, type Place } from './storage.ts';

/** Who named the server. */
export type ServerSource = 'option' | 'environment' | 'last_login' | 'default';

/** One server and what is stored for it. */
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
 * The server that this command talks to: `--server`, else `LATCHKEY_SERVER`, else the one last logged in to, else
 * the default one. Nothing is sent yet.
 * @throws {UsageError} also for plain http to another machine; {LatchkeyError} when the credentials cannot be read
 */
export async function connect(ctx: Context): Promise<Connection> {
  const named = namedServer(ctx);
  const place = await openStorage(ctx.config);
  const { server, source } = named ?? (await rememberedServer(place));
  if (isExposed(server, ctx.config.proxies)) {
    const description = `The connection to ${server} is not encrypted: anybody on the way can read your login.`;
    if (!ctx.insecureHttp && !isLoopbackHost(new URL(server).hostname)) {
      throw new UsageError(description, 'Use its https:// address, or allow this with --insecure-http.');
    }
    ctx.output.message({ warning: 'insecure_server', description }, () => [
      `latchkey: Warning: ${description}`,
    ]);
  }
  const store = credentialStore(place.storage, server);
  const api = createApi({ server, userAgent, insecureHttp: ctx.insecureHttp });
  return { server, source, place, store, api, session: openSession({ api, store }) };
}

/** How the person would log in to the same server. */
export const loginCommand = ({ server, insecureHttp }: Pick<Context, 'server' | 'insecureHttp'>): string =>
  [
    'latchkey login',
    ...(server === undefined ? [] : [`--server ${server}`]),
    ...(insecureHttp ? ['--insecure-http'] : []),
  ].join(' ');

const userAgent = `latchkey/${manifest.version} (${process.platform}; ${process.arch})`;

function namedServer({ server, config }: Context): Pick<Connection, 'server' | 'source'> | undefined {
  const [name, address, source] =
    server === undefined
      ? (['LATCHKEY_SERVER', config.server, 'environment'] as const)
      : (['--server', server, 'option'] as const);
  if (address === undefined) return undefined;
  try {
    return { server: serverAddress(address), source };
  } catch {
    throw new UsageError(
      `${name} must be the address of a server, by http or https and without a path.`,
      'It looks like https://login.example or login.example:8443.',
    );
  }
}

/**
 * The origin that an address names. Without a scheme it is reached by https, and this machine by http.
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
    const what = `The server last logged in to, in ${storage.description}, is no address of a server.`;
    throw new LatchkeyError('store_corrupt', what);
  }
}

/** Plain http to another machine, or by way of one. */
function isExposed(server: string, proxies: readonly ProxySetting[]): boolean {
  const { protocol, hostname } = new URL(server);
  if (protocol !== 'http:') return false;
  return !isLoopbackHost(hostname) || throughOtherMachine(hostname, proxies);
}

function throughOtherMachine(hostname: string, proxies: readonly ProxySetting[]): boolean {
  const setting = (name: string) => proxies.find((proxy) => proxy.name.toUpperCase() === name)?.value;
  const proxy = setting('HTTP_PROXY');
  const direct =
    setting('NO_PROXY')
      ?.split(',')
      .map((name) => name.trim()) ?? [];
  if (proxy === undefined || direct.includes(hostname) || direct.includes('*')) return false;
  return !(URL.canParse(proxy) && isLoopbackHost(new URL(proxy).hostname));
}
