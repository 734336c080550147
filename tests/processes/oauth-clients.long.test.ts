// Unmodified OAuth clients, which do not know `Idempotency-Key`: twenty of each share one login, lose responses and repeat what others
// have done, and nobody has to sign in again.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { auth as mcpAuth } from '@modelcontextprotocol/sdk/client/auth.js';
import type { OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import { exportJWK, generateKeyPair } from 'jose';
import * as openid from 'openid-client';
import { listener } from '#support/cli.ts';
import { type FaultProxy, startFaultProxy } from '#support/fault-proxy.ts';
import { refreshesDuring } from '#support/http.ts';
import { mcpProvider } from '#support/mcp-provider.ts';
import { registerService, startService, type TestService } from '#support/service.ts';

const sharers = 20;
const rounds = 10;
const redirectUri = 'http://127.0.0.1/callback';
const names = ['openid-client and a key', 'openid-client and a secret', 'the MCP SDK'] as const;

/** Which of the clients lose the response in a round, in which all of them refresh the same token in the end. */
const losses: readonly ((index: number) => boolean)[] = [
  () => false,
  () => true,
  (index) => index % 2 === 1,
  (index) => index === 0,
];

type Refresh = (tokens: OAuthTokens) => Promise<OAuthTokens>;

interface Client {
  readonly clientId: string;
  readonly auth: openid.ClientAuth;
  /** Starts another program with this identity. */
  readonly connect: (clientId: string, auth: openid.ClientAuth) => Promise<Refresh>;
}

let proxy: FaultProxy;
let service: TestService;
let server: string;
let clients: Readonly<Record<(typeof names)[number], Client>>;

const configured = (clientId: string, auth: openid.ClientAuth): Promise<openid.Configuration> =>
  openid.discovery(new URL(server), clientId, undefined, auth, { execute: [openid.allowInsecureRequests] });

async function openidClient(clientId: string, auth: openid.ClientAuth): Promise<Refresh> {
  const config = await configured(clientId, auth);
  return ({ refresh_token }) => openid.refreshTokenGrant(config, refresh_token!);
}

/** Its `auth` does everything: after a refresh without a response it starts a new authorization, and refused tokens are dropped. */
async function mcpSdk(clientId: string): Promise<Refresh> {
  const client = mcpProvider(clientId, redirectUri);
  // Without tokens: only discovery.
  await mcpAuth(client.provider, { serverUrl: server });
  return async (tokens) => {
    client.held = tokens;
    if ((await mcpAuth(client.provider, { serverUrl: server })) !== 'AUTHORIZED')
      throw new Error('no answer');
    return client.held;
  };
}

beforeAll(async () => {
  proxy = await startFaultProxy(0);
  server = `http://127.0.0.1:${proxy.port}`;
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const document = {
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: 'private_key_jwt',
    jwks: { keys: [await exportJWK(publicKey)] },
  };
  const { url: host } = listener(() => Response.json({ client_id: clientId, ...document }));
  const clientId = `${host}/client`;
  service = await startService({
    env: {
      LATCHKEY_BASE_URL: server,
      LATCHKEY_CLIENT_HOSTS: new URL(host).host,
      // The default is too short for a busy machine.
      LATCHKEY_REFRESH_REUSE_LEEWAY: '600',
    },
  });
  proxy.redirect(Number(service.env['PORT']));
  const register = (name: string, ...options: string[]): Promise<string> =>
    registerService(service, name, '--redirect', redirectUri, ...options);
  const [deskId = '', secret = ''] = (await register('desk')).split(':');
  const shelfId = await register('shelf', '--public');
  const [signing, withSecret] = [openid.PrivateKeyJwt(privateKey), openid.ClientSecretBasic(secret)];
  clients = {
    'openid-client and a key': { clientId, auth: signing, connect: openidClient },
    'openid-client and a secret': { clientId: deskId, auth: withSecret, connect: openidClient },
    'the MCP SDK': { clientId: shelfId, auth: openid.None(), connect: mcpSdk },
  };
});

afterAll(async () => {
  await service.stop();
  proxy.close();
});

/** Signs a person in to a client. */
async function signIn(email: string, { clientId, auth }: Client) {
  const { access_token: token } = await service.login(email);
  const config = await configured(clientId, auth);
  const pkceCodeVerifier = openid.randomPKCECodeVerifier();
  const json = {
    ...{ response_type: 'code', client_id: clientId, redirect_uri: redirectUri, scope: 'profile' },
    code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
  };
  const { body } = await service.ask('POST', '/authorize/approve', { json, token });
  const tokens = await openid.authorizationCodeGrant(config, new URL(body.redirect), { pkceCodeVerifier });
  return { tokens: { ...tokens, issuer: `${server}/` } as OAuthTokens, token };
}

test.each(names)(
  'twenty programs with %s share a login through hundreds of refreshes, some of whose responses are lost',
  async (name) => {
    const client = clients[name];
    let { tokens, token } = await signIn(`${name.replaceAll(' ', '-')}@example.com`, client);
    const programs = await Promise.all(
      Array.from({ length: sharers }, () => client.connect(client.clientId, client.auth)),
    );
    const { rotated, retry, ...others } = await refreshesDuring(service.url, async () => {
      for (let round = 0; round < rounds; round++) {
        const isLost = losses[round % losses.length]!;
        proxy.disturb('lose responses');
        const lost = programs.filter((_, index) => isLost(index));
        const outcomes = await Promise.allSettled(lost.map((refresh) => refresh(tokens)));
        expect(outcomes.map(({ status }) => status)).toEqual(lost.map(() => 'rejected'));
        proxy.disturb(undefined);
        // The first one is ahead of the others, as before the death of a program that has not stored its tokens.
        const ahead = await programs[0]!(tokens);
        const all = await Promise.all(programs.map((refresh) => refresh(tokens)));
        expect(ahead.refresh_token).not.toBe(tokens.refresh_token!);
        expect(all.map(({ refresh_token }) => refresh_token)).toEqual(all.map(() => ahead.refresh_token));
        tokens = ahead;
      }
    });
    expect([rotated, others]).toEqual([rounds, {}]);
    expect(retry).toBeGreaterThanOrEqual(rounds * sharers);
    const { body } = await service.ask('GET', '/sessions', { token });
    const ids = body.sessions.map(({ client_id }: { client_id: string | null }) => client_id);
    expect(ids).toContain(client.clientId);
  },
);
