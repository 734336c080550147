// A program that shares stored tokens with others and refreshes them with an unmodified OAuth client. Each line that it gets is one
// step: `read` the file, `refresh` what it read, `store` the result. It prints the outcome.
// Arguments: the name of the client, its identity, and the file of the tokens.

import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { auth as mcpAuth, type OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import type { OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';

export interface Identity {
  readonly server: string;
  readonly clientId: string;
  /** For authentication by service key. */
  readonly secret?: string;
  /** For signed requests. */
  readonly privateJwk?: JsonWebKey;
}

type Refresh = (tokens: OAuthTokens) => Promise<OAuthTokens>;

async function openidClient({ server, clientId, privateJwk }: Identity): Promise<Refresh> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' };
  const key = await crypto.subtle.importKey('jwk', privateJwk!, algorithm, false, ['sign']);
  const config = await openid.discovery(new URL(server), clientId, undefined, openid.PrivateKeyJwt(key), {
    execute: [openid.allowInsecureRequests],
  });
  return ({ refresh_token }) => openid.refreshTokenGrant(config, refresh_token!);
}

async function oauth4webapi({ server, clientId, secret }: Identity): Promise<Refresh> {
  const insecure = { [oauth.allowInsecureRequests]: true };
  const issuer = new URL(server);
  const metadata = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, insecure),
  );
  const client: oauth.Client = { client_id: clientId };
  const proof = oauth.ClientSecretBasic(secret!);
  return async ({ refresh_token }) => {
    const response = await oauth.refreshTokenGrantRequest(metadata, client, proof, refresh_token!, insecure);
    return oauth.processRefreshTokenResponse(metadata, client, response);
  };
}

/** Its `auth` does everything: after a refresh without a response it starts a new authorization, and refused tokens are dropped. */
async function mcpSdk({ server, clientId }: Identity): Promise<Refresh> {
  let held: OAuthTokens | undefined;
  let known: Awaited<ReturnType<NonNullable<OAuthClientProvider['discoveryState']>>>;
  const provider: OAuthClientProvider = {
    redirectUrl: 'http://127.0.0.1/callback',
    clientMetadata: { redirect_uris: ['http://127.0.0.1/callback'] },
    clientInformation: () => ({ client_id: clientId }),
    discoveryState: () => known,
    saveDiscoveryState: (state) => {
      known = state;
    },
    tokens: () => held,
    saveTokens: (tokens) => {
      held = tokens;
    },
    invalidateCredentials: (what) => {
      throw new Error(`the client dropped its credentials: ${what}`);
    },
    codeVerifier: () => '',
    saveCodeVerifier: () => {},
    redirectToAuthorization: () => {},
  };
  // Without tokens: only discovery.
  await mcpAuth(provider, { serverUrl: server });
  return async (tokens) => {
    held = tokens;
    if ((await mcpAuth(provider, { serverUrl: server })) !== 'AUTHORIZED') throw new Error('no answer');
    return held;
  };
}

const clients = { 'openid-client': openidClient, oauth4webapi, 'the MCP SDK': mcpSdk };
export type ClientName = keyof typeof clients;

async function run(name: ClientName, identity: Identity, file: string): Promise<void> {
  const answer = (value: unknown) => process.stdout.write(`${JSON.stringify(value)}\n`);
  const refresh = await clients[name](identity);
  let held: OAuthTokens;
  const steps = {
    read: () => {
      held = JSON.parse(readFileSync(file, 'utf8'));
      return held.refresh_token;
    },
    refresh: async () => {
      held = await refresh(held);
      return held.refresh_token;
    },
    store: () => {
      const temporary = `${file}.${process.pid}`;
      writeFileSync(temporary, JSON.stringify(held));
      renameSync(temporary, file);
      return 'stored';
    },
  };
  answer('ready');
  for await (const line of createInterface({ input: process.stdin })) {
    const step: keyof typeof steps = JSON.parse(line);
    try {
      answer(await steps[step]());
    } catch (error) {
      const code = error instanceof Error && 'error' in error ? error.error : undefined;
      answer(code === undefined ? { lost: String(error) } : { refused: code });
    }
  }
}

const [name, identity, file] = process.argv.slice(2);
if (import.meta.main) await run(name as ClientName, JSON.parse(identity!), file!);
