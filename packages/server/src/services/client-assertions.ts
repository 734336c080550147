// Clients that sign their requests to the token endpoint (`private_key_jwt`). @see RFC 7523 sections 2.2 and 3

import { endpoints } from '@latchkey/contract/endpoints';
import type { Context, TokenRequest } from '../platform/context.ts';
import { AuthError, invalidRequest, temporarilyUnavailable } from '../platform/errors.ts';
import type { VerifySignature } from '../platform/outgoing/key-set.ts';
import { byClient } from '../platform/rate-limits/limiter.ts';
import { assertionError, type Claims, readClaims } from '../platform/values/assertion.ts';
import type { ClientInfo } from '../platform/values/client-address.ts';
import { type DescribedClient, parseClientUrl } from './client-document.ts';

/** The type of a `client_assertion`. @see RFC 7523 section 2.2 */
const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** The longest time from now until an assertion of a client ends. */
const maxAssertionSeconds = 300;

const refusedClient = (description: string): AuthError =>
  new AuthError('invalid_client', description).asBadRequest();

/** A request of a client, as a form or JSON. */
export type ClientRequest = Pick<TokenRequest, 'serviceKey' | 'body' | 'client'>;

/** A client that described itself, with what verifies its signatures if it signs its requests. */
export interface KnownClient extends DescribedClient {
  readonly verify: VerifySignature | undefined;
}

const unsigned = () => invalidRequest('client_assertion: this client does not sign its requests');

const unavailable = () => temporarilyUnavailable(undefined, 'client_unavailable');

/**
 * The request, with the `client_id` that its assertion proves. Requests without an assertion are left to the grant, unless they name a
 * client that signs its requests.
 * @param describe the client at a URL; undefined if its document cannot be used
 * @throws {AuthError} `invalid_client` without a valid assertion of such a client; `invalid_request` for an assertion of any other;
 * `temporarily_unavailable` while its document or keys cannot be fetched; `rate_limited`
 */
export async function identifyClient<Request extends ClientRequest>(
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

/** The claim for which an assertion is not of this client, for this service and this time; undefined if there is none. */
function wrongClaimIn({ config, clock }: Context, claims: Claims, id: string): string | undefined {
  if (claims['iss'] !== id) return 'iss';
  if (claims['sub'] !== id) return 'sub';
  const audiences = [config.baseUrl, config.baseUrl + endpoints.issueToken.path];
  return assertionError(claims, { audiences, now: clock(), maxAheadSeconds: maxAssertionSeconds })?.claim;
}
