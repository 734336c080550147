import { endpoints } from '@latchkey/contract/endpoints';
import { accessTokenType, type IssuedToken, type TokenSet } from '@latchkey/contract/tokens';
import type { Context } from '../platform/context.ts';
import { invalidRequest } from '../platform/errors.ts';
import type { Api } from '../platform/http/pipeline.ts';
import {
  type Grant,
  type GrantCall,
  readRunRequest,
  refuseAuthorizationDetails,
  requireParameter,
} from '../platform/token-endpoint/grants.ts';
import { authenticateService, requireDelegation } from '../services/authentication.ts';
import { revokeKey } from './ending.ts';
import { type Issuers, redeemAssertion, startFederatedRun } from './federation/federation.ts';
import { challengeKey, createKey, listKeys } from './keys/keys.ts';
import { refresh } from './refresh.ts';
import { exchangeToken, findRunSubject, type RunSubject, subjectEnded } from './runs/runs.ts';
import { type AddIdentityToken, limitingChanges, listSessions } from './sessions.ts';
import type { Touches } from './touches.ts';

/** The refresh token grant. @see RFC 6749 section 6 */
export const refreshGrant = (addIdentityToken: AddIdentityToken): Grant<TokenSet> => ({
  redeem: async (ctx, call) => {
    refuseAuthorizationDetails(call.body);
    const token = requireParameter(call.body, 'refresh_token');
    const { tokens, sessionId, clientId, detail } = await refresh(ctx, token, call);
    // Only applications get identity tokens, and they name themselves.
    const body = clientId === undefined ? tokens : await addIdentityToken(sessionId, tokens, null);
    return { body, detail };
  },
});

/** The token exchange grant. @see RFC 8693 section 2.1 */
export const tokenExchangeGrant: Grant<IssuedToken> = {
  redeem: async (ctx, call) => {
    const service = call.serviceKey && (await authenticateService(ctx, call.serviceKey));
    if (service) requireDelegation(service);
    const requested = { service, ...readRunRequest(call.body) };
    const subject = await readSubject(ctx, call);
    return {
      body: await exchangeToken(ctx, subject, requested, call.client),
      detail: 'exchanged',
      ...(subject.renewedCookie === undefined ? {} : { cookie: { value: subject.renewedCookie } }),
    };
  },
};

/**
 * The subject token or, without one, the credential of the page or program that sends the request. A
 * credential that is not valid is an error of the request, whatever is wrong with it.
 * @throws {AuthError} `invalid_request`, `origin_not_allowed`, `precondition_failed`
 * @see RFC 8693 section 2.2.2
 */
async function readSubject(ctx: Context, call: GrantCall): Promise<RunSubject> {
  const { subject_token: token, subject_token_type: type } = call.body;
  if (type !== undefined && type !== accessTokenType)
    throw invalidRequest(`subject_token_type: must be ${accessTokenType}`);
  if (token !== undefined && type === undefined) throw invalidRequest('subject_token_type: is missing');
  const presented =
    token === undefined ? call.presentedCredential() : { type: 'bearer' as const, value: token };
  if (!presented) throw invalidRequest('subject_token: is missing');
  const subject = await findRunSubject(ctx, presented);
  if (!subject) throw subjectEnded();
  if (token === undefined) call.requireExpectedUser(subject.session.user_id);
  return subject;
}

/** The grant for programs with a token of a trusted issuer. @see RFC 7523 section 2.1 */
export const federationGrant = (issuers: Issuers): Grant<IssuedToken> => ({
  redeem: async (ctx, { serviceKey, body, client }) => {
    // It does not act in the run, as it might expect.
    if (serviceKey) throw invalidRequest('client_secret: a service key is not supported here');
    const assertion = requireParameter(body, 'assertion');
    const keyId = requireParameter(body, 'key_id');
    const subject = await redeemAssertion(ctx, issuers, { assertion, keyId }, client);
    const run = await startFederatedRun(ctx, subject, readRunRequest(body), client);
    return { body: run, detail: 'federated' };
  },
});

export function sessionRoutes(api: Api, ctx: Context, touches: Touches): void {
  api.answer(endpoints.listSessions, ({ caller, query }) => listSessions(ctx, caller, query));

  api.answer(endpoints.challengeKey, (call) => challengeKey(ctx, touches, call));

  api.on(endpoints.createKey, (call) =>
    limitingChanges(ctx, call, () => createKey(ctx, touches, call, call.body)),
  );

  api.answer(endpoints.listKeys, ({ caller, query }) => listKeys(ctx, caller, query));

  api.on(endpoints.removeKey, (call) =>
    limitingChanges(ctx, call, () => revokeKey(ctx, call.caller, call.params.id, call.client)),
  );
}
