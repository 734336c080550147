import { type Api, createApi, serverOrigin } from '@latchkey/client/api';
import { type CredentialStore, credentialStore } from '@latchkey/client/credentials';
import { LatchkeyError } from '@latchkey/client/errors';
import { openSession, type Session } from '@latchkey/client/session';
import manifest from '../package.json' with { type: 'json' };
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
 * @throws {UsageError}, {LatchkeyError} when the credentials cannot be read
 */
export async function connect(ctx: Context): Promise<Connection> {
  const named = namedServer(ctx);
  const place = await openStorage(ctx.config);
  const { server, source } = named ?? (await rememberedServer(place));
  if (isExposed(server)) {
    const description = `${server} is not encrypted: whoever is on the way can read your login.`;
    ctx.output.message({ warning: 'insecure_server', description }, () => [
      `latchkey: Warning: ${description} Use an https:// address.`,
    ]);
  }
  const store = credentialStore(place.storage, server);
  const api = createApi({ server, userAgent });
  return { server, source, place, store, api, session: openSession({ api, store }) };
}

/** How the person would log in to the same server. */
export const loginCommand = ({ server }: Pick<Context, 'server'>): string =>
  server === undefined ? 'latchkey login' : `latchkey login --server ${server}`;

const userAgent = `latchkey/${manifest.version} (${process.platform}; ${process.arch})`;

function namedServer({ server, config }: Context): Pick<Connection, 'server' | 'source'> | undefined {
  const [name, address, source] =
    server === undefined
      ? (['LATCHKEY_SERVER', config.server, 'environment'] as const)
      : (['--server', server, 'option'] as const);
  if (address === undefined) return undefined;
  try {
    return { server: serverOrigin(address), source };
  } catch {
    throw new UsageError(
      `${name} must be the http:// or https:// address of a server, without a path.`,
      'It looks like https://login.example.',
    );
  }
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

/** Plain http to another machine. */
function isExposed(server: string): boolean {
  const { protocol, hostname } = new URL(server);
  return protocol === 'http:' && !/^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}
