// Better Auth on SQLite or PostgreSQL, set up as for production: no rate limits, logs, telemetry or cookie cache; its own
// migrations; the same journal and durability as Latchkey. No email is rendered or sent.
//
// `GET /bench/KIND?count=N` prepares N requests of a kind through its own endpoints, and answers them as JSON.

import { Database } from 'bun:sqlite';
import { passkey } from '@better-auth/passkey';
import { betterAuth } from 'better-auth';
import { getMigrations } from 'better-auth/db/migration';
import { deviceAuthorization, magicLink } from 'better-auth/plugins';
import { Pool } from 'pg';
import { createAuthenticator } from '../../tests/support/authenticator.ts';
import type { LoadRequest } from '../support/load.ts';

const origin = `http://localhost:${process.env['PORT']}`;
const databaseUrl = process.env['DATABASE_URL'] ?? '';
const clientId = 'latchkey-bench';
const grantType = 'urn:ietf:params:oauth:grant-type:device_code';
/** As many as Latchkey opens. */
const postgresConnections = 16;
/** Accounts that sign in in turn. */
const accounts = 1000;

function openDatabase(): Database | Pool {
  if (!databaseUrl.startsWith('sqlite:'))
    return new Pool({ connectionString: databaseUrl, max: postgresConnections });
  const database = new Database(databaseUrl.slice('sqlite:'.length));
  for (const pragma of ['journal_mode = WAL', 'synchronous = FULL', 'foreign_keys = ON'])
    database.run(`PRAGMA ${pragma}`);
  return database;
}

const mailed = new Map<string, string>();

const auth = betterAuth({
  baseURL: origin,
  secret: 'a secret of the benchmark, long enough for Better Auth',
  database: openDatabase(),
  logger: { disabled: true },
  telemetry: { enabled: false },
  rateLimit: { enabled: false },
  // Every session that is read is also extended, unless the request says otherwise: that is its refresh.
  session: { cookieCache: { enabled: false }, updateAge: 0 },
  plugins: [
    deviceAuthorization({ interval: '1s', validateClient: (id) => id === clientId }),
    magicLink({ sendMagicLink: ({ email, token }) => void mailed.set(email, token), expiresIn: 3600 }),
    passkey({ rpID: 'localhost', rpName: 'bench', origin }),
  ],
});
await (await getMigrations(auth.options)).runMigrations();

const json = { 'Content-Type': 'application/json', Origin: origin };
const emailOf = (index: number): string => `person-${String(index % accounts).padStart(8, '0')}@example.com`;

/** Answers a prepared request in this process. */
async function answer({ method, path, headers, body }: LoadRequest): Promise<Response> {
  const response = await auth.handler(new Request(origin + path, { method, headers, body: body ?? null }));
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response;
}

const cookieOf = (response: Response): string =>
  response.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0])
    .join('; ');

const read = (path: string, headers = {}): LoadRequest => ({ method: 'GET', path, headers });
const write = (path: string, body: unknown, headers = {}): LoadRequest => ({
  method: 'POST',
  path,
  headers: { ...json, ...headers },
  body: JSON.stringify(body),
});

const requestLink = (index: number): LoadRequest =>
  write('/api/auth/sign-in/magic-link', { email: emailOf(index) });

async function verifyLink(index: number): Promise<LoadRequest> {
  await answer(requestLink(index));
  return read(`/api/auth/magic-link/verify?token=${mailed.get(emailOf(index))}`);
}

const cookies: string[] = [];
/** The cookie of a session; the first one of an account creates it. */
async function cookieAt(index: number): Promise<string> {
  cookies[index] ??= cookieOf(await answer(await verifyLink(index)));
  return cookies[index];
}

const startDevice = (): LoadRequest =>
  write('/api/auth/device/code', { client_id: clientId, scope: 'openid' });

async function poll(): Promise<LoadRequest> {
  const { device_code } = (await (await answer(startDevice())).json()) as { device_code: string };
  return write('/api/auth/device/token', { grant_type: grantType, device_code, client_id: clientId });
}

const authenticators: ReturnType<typeof createAuthenticator>[] = [];
async function authenticatorAt(index: number) {
  const Cookie = await cookieAt(index);
  const authenticator = createAuthenticator({ origin, algorithm: 'ES256' });
  const options = await answer(read('/api/auth/passkey/generate-register-options', { Cookie }));
  const response = authenticator.create((await options.json()) as Parameters<typeof authenticator.create>[0]);
  await answer(
    write(
      '/api/auth/passkey/verify-registration',
      { response, name: 'bench' },
      { Cookie: `${Cookie}; ${cookieOf(options)}` },
    ),
  );
  return authenticator;
}

async function signInWithPasskey(index: number): Promise<LoadRequest> {
  const at = index % accounts;
  authenticators[at] ??= await authenticatorAt(at);
  const options = await answer(read('/api/auth/passkey/generate-authenticate-options'));
  const { challenge } = (await options.json()) as { challenge: string };
  const response = authenticators[at].get({ challenge, rpId: 'localhost' });
  return write('/api/auth/passkey/verify-authentication', { response }, { Cookie: cookieOf(options) });
}

const kinds: Readonly<Record<string, (index: number) => LoadRequest | Promise<LoadRequest>>> = {
  me: async (index) =>
    read('/api/auth/get-session?disableRefresh=true', { Cookie: await cookieAt(index % accounts) }),
  refresh: async (index) => read('/api/auth/get-session', { Cookie: await cookieAt(index % accounts) }),
  deviceStart: startDevice,
  devicePoll: poll,
  linkRequest: requestLink,
  linkVerify: verifyLink,
  passkeyLogin: signInWithPasskey,
};

async function prepare(kind: string, count: number): Promise<Response> {
  const requests: LoadRequest[] = [];
  while (requests.length < count) requests.push(await kinds[kind]!(requests.length));
  return Response.json({ requests });
}

Bun.serve({
  hostname: '127.0.0.1',
  port: Number(process.env['PORT']),
  development: false,
  idleTimeout: 0,
  fetch: (request) => {
    const [, kind] = /\/bench\/(\w+)/.exec(request.url) ?? [];
    if (!kind) return auth.handler(request);
    return prepare(kind, Number(new URL(request.url).searchParams.get('count')));
  },
});
