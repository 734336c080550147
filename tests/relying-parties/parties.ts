// The relying parties, each as a process of its own: programs that know nothing of Latchkey but its address.

import { chmodSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { spawnSync } from 'bun';
import { reservePort } from '#support/reserved-port.ts';
import {
  launch,
  registerService,
  type TestService,
  temporaryDirectory,
  untilReady,
} from '#support/service.ts';
import { newVisitor, type Visit, type Visitor } from './visitor.ts';

interface Kind {
  readonly name: string;
  readonly isMissing?: boolean;
  readonly command: readonly string[];
  /** What it makes of a refused consent, and of the nonce of another request: a part of `status url text`. */
  readonly refused: string;
  readonly wrongNonce: string;
  readonly callback?: string;
  readonly login?: string;
  /** Where it shows who is signed in. */
  readonly home?: string;
  /** Where it signs out, if it sends people to the service for that. */
  readonly logout?: string;
  /** Posts what starts a sign-in, where a visit does not. */
  readonly start?: (visitor: Visitor, address: string) => Promise<Visit>;
}

const root = join(import.meta.dir, '../..');
/** Lets a program's clock run ahead, as its file says. */
const clock = join(root, 'tests/faults/clock-preload.ts');
const modules = '/usr/lib/apache2/modules';
const python = '/usr/bin/python3';
const hasAuthlib =
  existsSync(python) && spawnSync([python, '-c', 'import authlib, flask, requests']).exitCode === 0;

/** Auth.js starts a sign-in by a form of its own page. */
async function startAuthJs(visitor: Visitor, address: string): Promise<Visit> {
  const { csrfToken } = JSON.parse((await visitor.visit(`${address}/auth/csrf`)).text);
  const body = new URLSearchParams({ csrfToken, callbackUrl: `${address}/auth/session` });
  return visitor.visit(`${address}/auth/signin/latchkey`, { method: 'POST', body });
}

export const kinds: readonly Kind[] = [
  {
    name: 'openid-client',
    command: [process.execPath, `--preload=${clock}`, join(root, 'examples/openid-client.ts')],
    refused: 'access_denied',
    wrongNonce: 'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
    logout: '/logout',
  },
  {
    name: 'Auth.js',
    command: [process.execPath, join(root, 'examples/auth-js.ts')],
    refused: '/auth/signin?error=OAuthCallbackError',
    wrongNonce: '/auth/error?error=Configuration',
    callback: '/auth/callback/latchkey',
    home: '/auth/session',
    start: startAuthJs,
  },
  {
    name: 'passport-openidconnect',
    command: [process.execPath, join(import.meta.dir, 'passport.js')],
    refused: 'Unauthorized',
    wrongNonce: 'Forbidden',
  },
  {
    name: 'Authlib',
    isMissing: !hasAuthlib,
    command: [python, join(import.meta.dir, 'authlib_application.py')],
    refused: 'access_denied',
    wrongNonce: 'invalid_claim',
  },
  {
    name: 'mod_auth_openidc',
    isMissing: !existsSync(`${modules}/mod_auth_openidc.so`),
    command: ['/usr/sbin/apache2', '-D', 'FOREGROUND', '-f', join(import.meta.dir, 'apache.conf')],
    // It takes an error with `iss` for a request to sign in, and asks again.
    refused: '/authorize?',
    wrongNonce: 'Error in handling response type',
    login: '/',
    logout: '/callback?logout=',
  },
];

export type RelyingParty = Awaited<ReturnType<typeof startParty>>;

/** Starts an application that people sign in to, each with a browser of its own. */
export async function startParty(service: TestService, kind: Kind) {
  const { name, command, callback = '/callback', login = '/login', home = '/' } = kind;
  const port = reservePort();
  const address = `http://127.0.0.1:${port}`;
  const addresses = ['--redirect', address + callback, '--sign-out-redirect', `${address}/`];
  const key = await registerService(service, name, ...addresses);
  const [clientId = '', secret = ''] = key.split(':');
  const directory = temporaryDirectory();
  const clockFile = join(directory, 'clock');
  chmodSync(directory, 0o755);
  const env = {
    PATH: process.env['PATH'] ?? '',
    LATCHKEY_SERVER: service.url,
    SERVICE_KEY: key,
    CLIENT_ID: clientId,
    CLIENT_SECRET: secret,
    AUTH_SECRET: crypto.randomUUID(),
    PORT: String(port),
    DIRECTORY: directory,
    FAULTS_CLOCK_FILE: clockFile,
    MODULES: modules,
  };
  const isThere = () => fetch(address, { redirect: 'manual' }).then(Boolean);
  const stop = await untilReady(name, launch(root, env, command), isThere);
  return {
    address,
    clientId,
    /** Starts a sign-in in a new browser, and returns where it leads: a page of the service. */
    start: async () => {
      const visitor = newVisitor(service.url);
      const { url, status } = await (kind.start?.(visitor, address) ?? visitor.visit(address + login));
      if (status !== 0) throw new Error(`${name} did not lead to the service, but to ${url}: ${status}`);
      return { url: new URL(url), visitor };
    },
    /** What its page shows to this browser. */
    home: (visitor: Visitor) => visitor.visit(address + home),
    /** Moves its clock ahead soon, if that can be moved. */
    pass: async (seconds: number) => void (await Bun.write(clockFile, String(seconds * 1000))),
    stop,
  };
}
