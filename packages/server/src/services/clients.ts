// OAuth clients, which people sign in to: the command line, services that the operator gave redirect URIs,
// and programs that describe themselves at a URL of a listed host. None registers itself.

import { endpoints } from '@latchkey/contract/endpoints';
import { fieldLimits } from '@latchkey/contract/field-limits';
import { visibleText } from '@latchkey/contract/fields';
import type { JSONWebKeySet } from 'jose';
import { z } from 'zod';
import type { Config } from '../platform/config/config.ts';
import type { Context, TokenRequest } from '../platform/context.ts';
import { AuthError, invalidRequest, temporarilyUnavailable } from '../platform/errors.ts';
import { FetchError, fetchDocument } from '../platform/outgoing/fetch-document.ts';
import {
  type FetchedKeys,
  keySetDocument,
  openKeySet,
  type VerifySignature,
} from '../platform/outgoing/key-set.ts';
import { byClient } from '../platform/rate-limits/limiter.ts';
import { assertionError, type Claims, readClaims } from '../platform/values/assertion.ts';
import type { ClientInfo } from '../platform/values/client-address.ts';
import {
  allowsRedirect,
  isLoopbackRedirect,
  parseDocumentUrl,
  parseRedirectUri,
} from '../platform/values/redirect-uri.ts';
import { authenticateService } from './authentication.ts';
import { findServiceClient } from './service-keys.ts';

export const commandLineId = 'latchkey-cli';

export interface Client {
  readonly id: string;
  readonly name: string;
  readonly kind: 'command_line' | 'service' | 'external';
  /** The host of an external client, as in its id. */
  readonly host: string | null;
  readonly redirectUris: readonly string[];
  /** It proves nothing about itself at the token endpoint. */
  readonly isPublic: boolean;
  /** People need not approve it. */
  readonly isTrusted: boolean;
}

/** Its redirect URIs follow a rule, because it chooses path and port anew each time. */
const commandLine: Client = {
  id: commandLineId,
  name: 'Latchkey CLI',
  kind: 'command_line',
  host: null,
  redirectUris: [],
  isPublic: true,
  isTrusted: false,
};

const maxDocumentBytes = 16 * 1024;
const documentTimeoutMs = 3_000;
const maxKeptDocuments = 1_000;

interface KeptDocument {
  readonly described: Promise<KnownClient | undefined>;
  /** In milliseconds since 1970; infinite while it is being fetched. */
  until: number;
}

export type Clients = ReturnType<typeof openClients>;

/** Clients with a cache of the documents of external ones. */
export function openClients(ctx: Context) {
  const kept = new Map<string, KeptDocument>();

  const fresh = (url: URL): KeptDocument | undefined => {
    const document = kept.get(url.href);
    return document && ctx.clock() < document.until ? document : undefined;
  };

  /** Requests at the same time share one fetch. A failure is not kept. */
  const describe = async (url: URL, requestedBy: ClientInfo): Promise<KnownClient | undefined> => {
    if (!fresh(url)) await ctx.limiter.take(byClient('client_documents', requestedBy));
    return (fresh(url) ?? fetchAndKeep(url)).described;
  };

  const fetchAndKeep = (url: URL): KeptDocument => {
    const described = fetchDescription(ctx, url).then((fetched) => {
      document.until = fetched ? ctx.clock() + fetched.keptSeconds * 1000 : 0;
      if (!fetched && kept.get(url.href) === document) kept.delete(url.href);
      return fetched && { ...fetched.published, verify: verifierOf(ctx, url, fetched) };
    });
    const document: KeptDocument = { described, until: Number.POSITIVE_INFINITY };
    kept.delete(url.href);
    if (kept.size >= maxKeptDocuments) kept.delete(kept.keys().next().value!);
    kept.set(url.href, document);
    return document;
  };

  return {
    /** The client with this id; undefined if there is none. @throws {AuthError} `rate_limited` */
    find: async (clientId: string, requestedBy: ClientInfo): Promise<Client | undefined> => {
      if (clientId === commandLineId) return commandLine;
      const service = await findServiceClient(ctx.db.read, clientId);
      if (service && service.redirectUris.length > 0) return { ...service, kind: 'service', host: null };
      const url = parseClientUrl(clientId, ctx.config);
      const described = url && (await describe(url, requestedBy));
      if (!described) return undefined;
      const isPublic = !described.verify;
      return { ...described, id: clientId, kind: 'external', host: url.host, isPublic, isTrusted: false };
    },

    /** The request, with the `client_id` that its assertion proves. @throws as `identifyClient` */
    identify: <Request extends ClientRequest>(request: Request): Promise<Request> =>
      identifyClient(ctx, describe, request),
  };
}

/** Fetches what a client publishes, and how long that is kept, in seconds; undefined if it cannot be used. */
async function fetchPublished<Published>(
  ctx: Context,
  url: URL,
  read: (json: unknown) => Published | undefined,
): Promise<{ readonly published: Published; readonly keptSeconds: number } | undefined> {
  try {
    const { json, headers } = await fetchDocument(url, {
      maxBytes: maxDocumentBytes,
      timeoutMs: documentTimeoutMs,
      allowLoopback: ctx.config.isLocal,
    });
    const published = read(json);
    if (!published) throw new FetchError('it does not describe a client that we take');
    return { published, keptSeconds: keptSeconds(headers, ctx.clock()) };
  } catch (error) {
    const reason = error instanceof FetchError ? error.message : 'it failed';
    ctx.log.warn({ host: url.host, reason }, 'the document of a client could not be used');
    return undefined;
  }
}

const fetchDescription = (ctx: Context, url: URL) =>
  fetchPublished(ctx, url, (json) => readClientDocument(url, json));

/** Keys are kept as long as the document that has or names them. */
function verifierOf(
  ctx: Context,
  url: URL,
  { published: { signing }, keptSeconds }: NonNullable<Awaited<ReturnType<typeof fetchDescription>>>,
): VerifySignature | undefined {
  if (signing === null) return undefined;
  const fetch = async (): Promise<FetchedKeys | undefined> => {
    const fetched =
      'url' in signing
        ? await fetchPublished(ctx, signing.url, (json) => clientKeys.safeParse(json).data)
        : await fetchPublished(ctx, url, (json) => {
            const again = readClientDocument(url, json)?.signing;
            return again && 'keys' in again ? again.keys : undefined;
          });
    return fetched && { keys: fetched.published, keptMs: fetched.keptSeconds * 1000 };
  };
  const known = 'keys' in signing ? { keys: signing.keys, keptMs: keptSeconds * 1000 } : undefined;
  return openKeySet(ctx.clock, { fetch, keptWithoutSourceMs: 0, failureKeptMs: 0, known });
}

/**
 * The client id of a token request: the service whose key the request has, or the public client that it
 * names. Undefined if the client that it names is unknown.
 * @throws {AuthError} `invalid_client` for a wrong key, and for a client that needs one;
 * `invalid_request` if the request names no client
 */
export async function proveClient(ctx: Context, { serviceKey, body: { client_id: id } }: TokenRequest) {
  if (serviceKey) return (await authenticateService(ctx, serviceKey)).id;
  if (id === undefined) throw invalidRequest('client_id: is missing');
  const service = await findServiceClient(ctx.db.read, id);
  if (service && !service.isPublic)
    throw new AuthError('invalid_client', 'This client authenticates with its service key.').asBadRequest();
  return service || id === commandLineId || parseClientUrl(id, ctx.config) ? id : undefined;
}

/** The redirect URI of a request, or the only one if it names none; undefined if it is not the client's. */
export function redirectUriOf(client: Client, requested: string | undefined): string | undefined {
  if (requested === undefined) return client.redirectUris.length === 1 ? client.redirectUris[0] : undefined;
  if (client.kind === 'command_line') return isCommandLineRedirect(requested) ? requested : undefined;
  return client.redirectUris.some((uri) => allowsRedirect(uri, requested)) ? requested : undefined;
}

/** A port that the command line listens on, and a path that it made up. */
function isCommandLineRedirect(uri: string): boolean {
  const url = parseRedirectUri(uri);
  return (
    url?.protocol === 'http:' &&
    url.hostname === '127.0.0.1' &&
    url.port !== '' &&
    url.pathname !== '/' &&
    !uri.includes('?')
  );
}

/** Whether any program on the user's computer could claim to be this client. */
export const isLoopbackClient = ({ kind, redirectUris }: Client): boolean =>
  kind === 'command_line' || redirectUris.every(isLoopbackRedirect);

// Clients that sign their requests to the token endpoint (`private_key_jwt`).
// @see RFC 7523 sections 2.2 and 3

/** The type of a `client_assertion`. @see RFC 7523 section 2.2 */
const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** The longest time from now until an assertion of a client ends. */
const maxAssertionSeconds = 300;

const refusedClient = (description: string): AuthError =>
  new AuthError('invalid_client', description).asBadRequest();

export type ClientRequest = Pick<TokenRequest, 'serviceKey' | 'body' | 'client'>;

/** A client that described itself, with what verifies its signatures if it signs its requests. */
export interface KnownClient extends DescribedClient {
  readonly verify: VerifySignature | undefined;
}

const unsigned = () => invalidRequest('client_assertion: this client does not sign its requests');

const unavailable = () => temporarilyUnavailable(undefined, 'client_unavailable');

/**
 * The request, with the `client_id` that its assertion proves. Requests without an assertion are left to the
 * grant, unless they name a client that signs its requests.
 * @param describe the client at a URL; undefined if its document cannot be used
 * @throws {AuthError} `invalid_client` without a valid assertion of such a client;
 * `invalid_request` for an assertion of any other; `temporarily_unavailable` while its document or
 * keys cannot be fetched; `rate_limited`
 */
async function identifyClient<Request extends ClientRequest>(
  ctx: Context,
  describe: (url: URL, requestedBy: ClientInfo) => Promise<KnownClient | undefined>,
  request: Request,
): Promise<Request> {
  const { body, client: requestedBy } = request;
  const shown = readAssertion(request);
  const id = body.client_id ?? shown?.claims['sub'];
  const url = typeof id === 'string' ? parseClientUrl(id, ctx.config) : undefined;
  if (!url && shown) throw unsigned();
  if (!url) return request;
  const known = await describe(url, requestedBy);
  if (!known) throw unavailable();
  const { verify } = known;
  if (!verify && shown) throw unsigned();
  if (!verify) return request;
  if (!shown) throw refusedClient('This client authenticates with a client_assertion.');
  const { assertion, claims } = shown;
  const admit = async () => void (await ctx.limiter.take(byClient('client_documents', requestedBy)));
  const wrongClaim = wrongClaimIn(ctx, claims, url.href);
  const verified = wrongClaim === undefined ? await verify(assertion, admit) : 'invalid';
  if (verified === 'unavailable') throw unavailable();
  if (verified === 'valid') return { ...request, body: { ...body, client_id: url.href } };
  ctx.log.info(
    { client: url.href, reason: wrongClaim ?? 'signature' },
    'the assertion of a client was refused',
  );
  throw refusedClient('The client_assertion is not valid.');
}

/** The assertion of a request with its claims, not verified yet; undefined if it has none. */
function readAssertion({ serviceKey, body }: ClientRequest) {
  const { client_assertion: assertion, client_assertion_type: type } = body;
  if (assertion === undefined && type === undefined) return undefined;
  if (serviceKey) throw invalidRequest('client_assertion: the request has a service key already');
  if (type !== assertionType) throw invalidRequest(`client_assertion_type: must be ${assertionType}`);
  if (assertion === undefined) throw invalidRequest('client_assertion: is missing');
  const claims = readClaims(assertion);
  if (!claims) throw refusedClient('The client_assertion is malformed.');
  return { assertion, claims };
}

/** The claim that makes an assertion wrong for this client, service or time; undefined if none does. */
function wrongClaimIn({ config, clock }: Context, claims: Claims, id: string): string | undefined {
  if (claims['iss'] !== id) return 'iss';
  if (claims['sub'] !== id) return 'sub';
  const audiences = [config.baseUrl, config.baseUrl + endpoints.issueToken.path];
  return assertionError(claims, { audiences, now: clock(), maxAheadSeconds: maxAssertionSeconds })?.claim;
}

// The document in which an external client describes itself, at the URL that
// is its client_id: pure functions.
// @see draft-ietf-oauth-client-id-metadata-document

const minKeptSeconds = 300;
const maxKeptSeconds = 86_400;

/** The URL of an external client that is listed, or whose host is; undefined for any other `client_id`. */
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
const clientKeys = keySetDocument.refine(
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

/** The keys of a client, or where they are; undefined if it does not say just one of these. */
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

/**
 * How long a document is kept, in seconds, as its headers say, within our limits.
 * @see RFC 9111 section 4.2
 */
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
