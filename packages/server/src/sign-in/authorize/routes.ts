import type { AuthorizationResponse } from '@latchkey/contract/authorize';
import { endpoints } from '@latchkey/contract/endpoints';
import type { AuthorizationPage } from '@latchkey/contract/page-data';
import type { TokenSet } from '@latchkey/contract/tokens';
import type { Context } from '../../platform/context.ts';
import { queryOf, receiveFormAsQuery } from '../../platform/http/body.ts';
import { cookieHeader, readCookie } from '../../platform/http/cookie.ts';
import { failWithPage, pageHeaders, requestPage } from '../../platform/http/pages.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import type { Routes } from '../../platform/http/server.ts';
import {
  type Grant,
  type OnCodes,
  refuseAuthorizationDetails,
  requireParameter,
} from '../../platform/token-endpoint/grants.ts';
import { readClientInfo } from '../../platform/values/client-address.ts';
import type { AddIdentityToken } from '../../sessions/sessions.ts';
import {
  type AskedRequest,
  type AuthorizeOptions,
  approveRequest,
  assessRequest,
  denyRequest,
  sourceOf,
  verifyRequest,
} from './authorize.ts';
import { firstSeen, forgetRequest, rememberRequest } from './first-seen.ts';
import { isSecondUse, noticeReplay, redeemCode } from './redeeming.ts';
import type { SentParameters } from './request.ts';

/** The authorization code grant of the OAuth token endpoint. @see RFC 6749 section 4.1.3 */
export const authorizationCodeGrant = (addIdentityToken: AddIdentityToken): Grant<TokenSet> => ({
  redeem: async (ctx, call) => {
    const { body } = call;
    requireParameter(body, 'code');
    const verifier = requireParameter(body, 'code_verifier');
    refuseAuthorizationDetails(body);
    const { tokens, sessionId, nonce, detail } = await redeemCode(ctx, call, verifier);
    return { body: await addIdentityToken(sessionId, tokens, nonce), detail, isOwnCode: true };
  },
});

/** Notices a second use of the codes in a token request, whatever else the request holds and whatever is wrong with it. */
export const noticingReplays =
  (ctx: Context): OnCodes =>
  async (codes, client, ended) => {
    if (ended instanceof Error ? !isSecondUse(ended) : ended.isOwnCode) return;
    for (const code of codes) await noticeReplay(ctx, code, client);
  };

const path = '/authorize';

/** The first value of each parameter, with the names that appear more than once. */
function readParameters(query: URLSearchParams): SentParameters {
  const values = new Map<string, string>();
  const duplicates = new Set<string>();
  for (const [name, value] of query) {
    if (values.has(name)) duplicates.add(name);
    else values.set(name, value);
  }
  return { values: Object.fromEntries(values), duplicates: [...duplicates] };
}

/**
 * The page for an authorization request. It reports one without a known client and redirect URI; any other
 * error goes to the client, by itself only to a service. It also says if it could not be looked at.
 */
export function authorizePage(routes: Routes, ctx: Context, options: AuthorizeOptions): void {
  const pageFor = requestPage<AuthorizationPage>('authorize', ctx.config);

  routes.get(path, async (exchange) => {
    failWithPage(exchange, pageFor);
    const { request } = exchange;
    const sent = readParameters(queryOf(request.url).searchParams);
    const requestedBy = readClientInfo(ctx.config.trustedProxies, exchange);
    const assessed = await assessRequest(ctx, options, sent, requestedBy);
    if (assessed.outcome === 'unknown') {
      const { outcome, error } = assessed;
      exchange.outcome = error.code;
      return pageFor(request, { status: 400, data: { outcome, message: error.message } });
    }
    const { client, target } = assessed;
    const formOrigin = target.responseMode === 'form_post' ? new URL(target.redirectUri).origin : undefined;
    const source = sourceOf(client, target);
    if (!('refusal' in assessed)) {
      const page = pageFor(request, { status: 200, formOrigin, data: { outcome: 'valid', ...source } });
      const kept = readCookie(ctx.config, 'requests', request.headers.get('Cookie'));
      if (assessed.needsNewSignIn && firstSeen(ctx, kept, sent.values) === undefined)
        page.headers.append(
          'Set-Cookie',
          cookieHeader(ctx.config, 'requests', rememberRequest(ctx, kept, sent.values)),
        );
      return page;
    }
    const { error, response } = assessed.refusal;
    exchange.outcome = error.code;
    if ('redirect' in response && client.kind === 'service')
      return new Response(null, { status: 303, headers: { ...pageHeaders(), Location: response.redirect } });
    const data = { outcome: 'refused', message: error.message, response, ...source } as const;
    return pageFor(request, { status: 200, formOrigin, data });
  });

  routes.on('POST', path, async (exchange) => {
    failWithPage(exchange, pageFor);
    const query = await receiveFormAsQuery(exchange.request);
    return exchange.json(undefined, 303, { Location: `${path}?${query}` });
  });
}

export function authorizeRoutes(api: Api, ctx: Context, options: AuthorizeOptions): void {
  api.answer(endpoints.verifyAuthorization, (call) => verifyRequest(ctx, options, call));

  /** The response to the client, after which the browser forgets the request. */
  const answered = (asked: Pick<AskedRequest, 'requestsCookie' | 'body'>, body: AuthorizationResponse) => {
    const cookie = forgetRequest(ctx, asked.requestsCookie, asked.body);
    return cookie === undefined
      ? { body }
      : { body, headers: { 'Set-Cookie': cookieHeader(ctx.config, 'requests', cookie) } };
  };
  api.on(endpoints.approveAuthorization, async ({ body: { passkey, ...body }, ...call }) => {
    const asked = { ...call, body };
    return answered(asked, await approveRequest(ctx, options, asked, passkey));
  });
  api.on(endpoints.denyAuthorization, async (call) => answered(call, await denyRequest(ctx, options, call)));
}
