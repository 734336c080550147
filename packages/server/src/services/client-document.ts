// The document in which an external client describes itself, at the URL that is its client_id: pure functions.
// @see draft-ietf-oauth-client-id-metadata-document

import { fieldLimits } from '@latchkey/contract/field-limits';
import { visibleText } from '@latchkey/contract/fields';
import type { JSONWebKeySet } from 'jose';
import { z } from 'zod';
import type { Config } from '../platform/config/config.ts';
import { keySetDocument } from '../platform/outgoing/key-set.ts';
import { parseDocumentUrl, parseRedirectUri } from '../platform/values/redirect-uri.ts';

const minKeptSeconds = 300;
const maxKeptSeconds = 86_400;

/** The URL of an external client, listed itself or by its host. In development, a loopback host is asked by http. */
export function parseClientUrl(
  clientId: string,
  { clientHosts, isLocal }: Pick<Config, 'clientHosts' | 'isLocal'>,
): URL | undefined {
  const url = parseDocumentUrl(clientId);
  if (!url) return undefined;
  const isOverHttp = url.protocol === 'http:';
  if (isOverHttp && !isLocal) return undefined;
  const port = url.port || (isOverHttp ? '80' : '443');
  const isListed = [url.href, url.host, `${url.hostname}:${port}`].some((entry) =>
    clientHosts.includes(entry),
  );
  return isListed ? url : undefined;
}

const clientDocument = z.object({
  client_id: z.string(),
  client_name: visibleText(fieldLimits.clientText).optional().catch(undefined),
  redirect_uris: z.array(z.unknown()),
  token_endpoint_auth_method: z.enum(['none', 'private_key_jwt']).optional(),
  jwks: z.unknown().optional(),
  jwks_uri: z.unknown().optional(),
  client_secret: z.undefined().optional(),
  client_secret_expires_at: z.undefined().optional(),
});

const maxKeys = 10;

/** The members of private and symmetric keys. @see RFC 7518 section 6 */
const secretMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

/** The keys that a client signs with, which are public. @throws {ZodError} */
export const clientKeys = keySetDocument.refine(
  ({ keys }) =>
    keys.length > 0 &&
    keys.length <= maxKeys &&
    keys.every((key) => secretMembers.every((member) => !Object.hasOwn(key, member))),
);

/** What a client says about itself, with the redirect URIs that are acceptable. */
export type DescribedClient = NonNullable<ReturnType<typeof readClientDocument>>;

/** Undefined unless the document belongs to this client, which must be a public one or sign its requests. */
export function readClientDocument(url: URL, json: unknown) {
  const { data } = clientDocument.safeParse(json);
  if (data?.client_id !== url.href) return undefined;
  const signing = data.token_endpoint_auth_method === 'private_key_jwt' ? readKeys(url, data) : null;
  if (signing === undefined) return undefined;
  return {
    name: data.client_name ?? url.host,
    redirectUris: data.redirect_uris.filter(
      (uri): uri is string => typeof uri === 'string' && parseRedirectUri(uri) !== undefined,
    ),
    signing,
  };
}

/** The keys of a client that signs its requests, or where they are; undefined if it does not say just one of these. */
function readKeys(
  url: URL,
  { jwks, jwks_uri }: Pick<z.output<typeof clientDocument>, 'jwks' | 'jwks_uri'>,
): { readonly keys: JSONWebKeySet } | { readonly url: URL } | undefined {
  if ((jwks === undefined) === (jwks_uri === undefined)) return undefined;
  if (jwks_uri === undefined) {
    const { data } = clientKeys.safeParse(jwks);
    return data && { keys: data };
  }
  const keysUrl = typeof jwks_uri === 'string' ? URL.parse(jwks_uri) : null;
  return keysUrl?.origin === url.origin && keysUrl.username === '' && keysUrl.password === ''
    ? { url: keysUrl }
    : undefined;
}

/** How long a document is kept, in seconds, as its headers say, within our limits. @see RFC 9111 section 4.2 */
export function keptSeconds(headers: Headers, nowMs: number): number {
  const control = headers.get('Cache-Control') ?? '';
  const [, maxAge] = /(?:^|[\s,])max-age="?(\d{1,9})/i.exec(control) ?? [];
  const expires = Date.parse(headers.get('Expires') ?? '');
  const fresh = /(?:^|[\s,])no-(?:store|cache)\b/i.test(control)
    ? 0
    : maxAge !== undefined
      ? Number(maxAge) - Number(headers.get('Age') ?? 0)
      : (expires - nowMs) / 1000;
  return Math.min(maxKeptSeconds, Math.max(minKeptSeconds, Number.isFinite(fresh) ? fresh : 0));
}
