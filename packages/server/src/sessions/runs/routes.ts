import { accessTokenType, type IssuedToken } from '@latchkey/contract/tokens';
import type { CallingService, Context } from '../../platform/context.ts';
import { invalidRequest } from '../../platform/errors.ts';
import { type Grant, type GrantCall, readRunRequest } from '../../platform/token-endpoint/grants.ts';
import { authenticateService, requireDelegation } from '../../services/authentication.ts';
import { exchangeToken } from './runs.ts';
import { findRunSubject, type RunSubject, subjectEnded } from './subject.ts';

/** The token exchange grant. @see RFC 8693 section 2.1 */
export const tokenExchangeGrant: Grant<IssuedToken> = {
  redeem: async (ctx, call) => {
    const service = await readService(ctx, call);
    const requested = { service, ...readRunRequest(call.body) };
    const subject = await readSubject(ctx, call);
    return {
      body: await exchangeToken(ctx, subject, requested, call.client),
      detail: 'exchanged',
      ...(subject.renewedCookie === undefined ? {} : { cookie: { value: subject.renewedCookie } }),
    };
  },
};

/** @throws {AuthError} `invalid_client`, `unauthorized_client` */
async function readService(ctx: Context, { serviceKey }: GrantCall): Promise<CallingService | undefined> {
  if (!serviceKey) return undefined;
  const service = await authenticateService(ctx, serviceKey);
  requireDelegation(service);
  return service;
}

/**
 * The subject token, or the credential of the page or program that sends the request. An invalid one is an error of the
 * request, whatever is wrong with it.
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
