import { clientCredentialsGrantType, type IssuedToken } from '@latchkey/contract/tokens';
import { AuthError } from '../../platform/errors.ts';
import { type Grant, readLifetime } from '../../platform/http/grants.ts';
import { identifyService } from '../service-keys/service-keys.ts';
import { issueServiceToken } from './service-tokens.ts';

/** The client credentials grant: tokens for a service that acts for no user. @see RFC 6749 section 4.4 */
export const clientCredentialsGrant: Grant<IssuedToken> = {
  grantType: clientCredentialsGrantType,
  redeem: async (ctx, { authorization, body }) => {
    const service = await identifyService(ctx, authorization);
    // Refused and not ignored: a restriction that was asked for must not get lost.
    if (body.authorization_details !== undefined)
      throw new AuthError('invalid_request', 'authorization_details: is not supported by this grant');
    const { scope, resource } = body;
    const requested = { scope, resource, expiresInSeconds: readLifetime(body) };
    return { body: await issueServiceToken(ctx, service, requested), detail: 'issued' };
  },
};
