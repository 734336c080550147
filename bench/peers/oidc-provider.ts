// oidc-provider on SQLite or PostgreSQL, set up as for production, with opaque tokens and rotated refresh tokens as Latchkey
// has them. It has no rate limits and writes no log.
//
// `GET /bench/KIND?count=N` prepares N requests of a kind, and answers them as JSON.

import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import Provider from 'oidc-provider';
import type { LoadRequest } from '../support/load.ts';
import { storageOn } from './oidc-storage.ts';

const port = Number(process.env['PORT']);
const service = { id: 'service', secret: 'the secret of a service' };
const device = 'device';
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });

const provider = new Provider(`http://localhost:${port}`, {
  adapter: await storageOn(process.env['DATABASE_URL'] ?? ''),
  clients: [
    {
      client_id: service.id,
      client_secret: service.secret,
      grant_types: [],
      redirect_uris: [],
      response_types: [],
    },
    {
      client_id: device,
      token_endpoint_auth_method: 'none',
      application_type: 'native',
      grant_types: [deviceGrant, 'refresh_token'],
      redirect_uris: [],
      response_types: [],
    },
  ],
  clientDefaults: { id_token_signed_response_alg: 'ES256', introspection_signed_response_alg: 'ES256' },
  cookies: { keys: ['a secret of the benchmark'] },
  enabledJWA: { introspectionSigningAlgValues: ['ES256'] },
  features: {
    deviceFlow: { enabled: true },
    devInteractions: { enabled: false },
    introspection: { enabled: true, allowedPolicy: () => true },
    jwtIntrospection: { enabled: true },
  },
  findAccount: (_: unknown, accountId: string) => ({ accountId, claims: () => ({ sub: accountId }) }),
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'bench', use: 'sig', alg: 'ES256' }] },
  rotateRefreshToken: true,
  ttl: { AccessToken: 3600, DeviceCode: 3600, Grant: 86_400, RefreshToken: 86_400 },
});

const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
const write = (path: string, body: Record<string, string>, headers = {}): LoadRequest => ({
  method: 'POST',
  path,
  headers: { ...form, ...headers },
  body: new URLSearchParams(body).toString(),
});

async function grantOf(accountId: string): Promise<string> {
  const grant = new provider.Grant({ accountId, clientId: device });
  grant.addOIDCScope('offline_access');
  return grant.save();
}

const tokenOf = async (model: 'AccessToken' | 'RefreshToken', index: number): Promise<string> => {
  const accountId = `account-${index}`;
  return new provider[model]({
    accountId,
    client: await provider.Client.find(device),
    grantId: await grantOf(accountId),
    gty: 'device_code',
    scope: 'offline_access',
  }).save();
};

const startDevice = (): LoadRequest => write('/device/auth', { client_id: device, scope: 'openid' });

async function poll(): Promise<LoadRequest> {
  const { path, ...init } = startDevice();
  const response = await fetch(`http://127.0.0.1:${port}${path}`, init);
  const { device_code } = (await response.json()) as { device_code: string };
  return write('/token', { grant_type: deviceGrant, client_id: device, device_code });
}

const authorization = `Basic ${btoa(`${service.id}:${encodeURIComponent(service.secret)}`)}`;
const introspect = async (index: number, headers = {}): Promise<LoadRequest> =>
  write(
    '/token/introspection',
    { token: await tokenOf('AccessToken', index) },
    { Authorization: authorization, ...headers },
  );

const kinds: Readonly<Record<string, (index: number) => LoadRequest | Promise<LoadRequest>>> = {
  introspect: (index) => introspect(index),
  introspectJwt: (index) => introspect(index, { Accept: 'application/token-introspection+jwt' }),
  refresh: async (index) =>
    write('/token', {
      grant_type: 'refresh_token',
      client_id: device,
      refresh_token: await tokenOf('RefreshToken', index),
    }),
  deviceStart: startDevice,
  devicePoll: poll,
};

async function prepare(url: URL): Promise<string> {
  const requests: LoadRequest[] = [];
  const kind = kinds[url.pathname.slice('/bench/'.length)]!;
  while (requests.length < Number(url.searchParams.get('count'))) requests.push(await kind(requests.length));
  return JSON.stringify({ requests });
}

const answer = provider.callback();
createServer((request, response) => {
  if (!request.url?.startsWith('/bench/')) return answer(request, response);
  prepare(new URL(request.url, 'http://localhost')).then((text) => response.end(text));
}).listen(port, '127.0.0.1');
