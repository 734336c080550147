import { endpoints } from '@latchkey/contract/endpoints';
import { endSessionPath, type SignOutPage, signOutParameters } from '@latchkey/contract/openid';
import type { Caller, Context } from '../../platform/context.ts';
import { AuthError } from '../../platform/errors.ts';
import { check, queryOf, readQuery, receiveFormAsQuery } from '../../platform/http/body.ts';
import { errorResponse, location, type Operation } from '../../platform/http/operations.ts';
import { failWithPage, requestPage } from '../../platform/http/pages.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import type { Routes } from '../../platform/http/server.ts';
import { withoutEmpty } from '../../platform/values/parameters.ts';
import type { SigningKeys } from '../signing-keys/signing-keys.ts';
import { claimsOf, issueRunIdentity } from './identity-tokens.ts';
import { checkSignOut, confirmSignOut } from './sign-out.ts';

const signOutPath = '/sign-out';

const signOut = {
  group: 'authorization',
  path: endSessionPath,
  summary: 'Leads to the page on which people confirm that they want to sign out',
  notes:
    'An application sends people here (OpenID Connect RP-Initiated Logout). Nothing ends before they confirm. What is wrong with the request is said on the page.',
  security: [],
} as const;
const signOutResponses = {
  303: { description: 'See Other', headers: [location] },
  500: errorResponse(['server_error']),
  503: errorResponse(['temporarily_unavailable']),
};

const startSignOut: Operation = {
  ...signOut,
  id: 'startSignOut',
  title: 'Sign out from an application',
  method: 'get',
  parameters: Object.entries(signOutParameters.shape).map(
    ([name, schema]) => ({ name, in: 'query', required: false, schema }) as const,
  ),
  responses: signOutResponses,
};

const postSignOut: Operation = {
  ...signOut,
  id: 'postSignOut',
  title: 'Sign out from an application by POST',
  method: 'post',
  body: { required: false, content: { 'application/x-www-form-urlencoded': signOutParameters } },
  responses: {
    ...signOutResponses,
    413: errorResponse(['payload_too_large']),
    415: errorResponse(['unsupported_media_type']),
  },
};

/** The person always confirms. The page reports a request with an address that is not the application's. */
export function signOutPage(routes: Routes, ctx: Context, keys: SigningKeys): void {
  routes.operations.push(startSignOut, postSignOut);
  routes.get(endSessionPath, (exchange) =>
    exchange.json(undefined, 303, { Location: `${signOutPath}${queryOf(exchange.request.url).search}` }),
  );
  routes.on('POST', endSessionPath, async (exchange) =>
    exchange.json(undefined, 303, {
      Location: `${signOutPath}?${await receiveFormAsQuery(exchange.request)}`,
    }),
  );
  const pageFor = requestPage<SignOutPage>('sign-out', ctx.config);
  routes.get(signOutPath, async (exchange) => {
    failWithPage(exchange, pageFor);
    const { request } = exchange;
    try {
      const parameters = check(signOutParameters, withoutEmpty(readQuery(request.url)), 'parameters');
      const { hint, redirect } = await checkSignOut(ctx, keys, parameters);
      const data = { outcome: 'valid', parameters, userId: hint?.userId, redirect } as const;
      return pageFor(request, { status: 200, data });
    } catch (error) {
      if (!(error instanceof AuthError) || error.code !== 'invalid_request') throw error;
      return pageFor(request, { status: 400, data: { outcome: 'refused', message: error.message } });
    }
  });
}

export function openidRoutes(api: Api, ctx: Context, keys: SigningKeys): void {
  const userinfo = async ({ caller: { account, scope } }: { readonly caller: Caller }) => ({
    body: await claimsOf(ctx, scope, account),
  });
  api.on(endpoints.getUserinfo, userinfo);
  api.on(endpoints.postUserinfo, userinfo);

  api.answer(endpoints.issueIdToken, ({ caller, body }) =>
    issueRunIdentity(ctx, keys, caller, body.audience),
  );

  api.on(endpoints.confirmSignOut, async ({ body, caller, client }) => ({
    body: await confirmSignOut(ctx, keys, body, { caller, client }),
    cookie: 'clear',
  }));
}
