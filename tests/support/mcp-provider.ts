import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import type { OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';

/** What the SDK of the Model Context Protocol asks of a program, written as its authors tell people to. It keeps all in memory. */
export function mcpProvider(client_id: string, redirectUrl: string) {
  let codeVerifier = '';
  let known: Awaited<ReturnType<NonNullable<OAuthClientProvider['discoveryState']>>>;
  const client = {
    held: undefined as OAuthTokens | undefined,
    /** The authorizations that it has asked for. */
    requested: [] as URL[],
  };
  const provider: OAuthClientProvider = {
    redirectUrl,
    clientMetadata: { redirect_uris: [redirectUrl], client_name: 'Notebook' },
    clientInformation: () => ({ client_id }),
    discoveryState: () => known,
    saveDiscoveryState: (state) => {
      known = state;
    },
    tokens: () => client.held,
    saveTokens: (tokens) => {
      client.held = tokens;
    },
    redirectToAuthorization: (url) => void client.requested.push(url),
    saveCodeVerifier: (verifier) => {
      codeVerifier = verifier;
    },
    codeVerifier: () => codeVerifier,
    invalidateCredentials: () => {
      client.held = undefined;
    },
  };
  return Object.assign(client, { provider });
}
