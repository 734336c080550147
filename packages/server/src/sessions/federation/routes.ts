import type { IssuedToken } from '@latchkey/contract/tokens';
import { invalidRequest } from '../../platform/errors.ts';
import { type Grant, readRunRequest, requireParameter } from '../../platform/token-endpoint/grants.ts';
import { redeemAssertion, startFederatedRun } from './federation.ts';
import type { Issuers } from './issuers.ts';

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
