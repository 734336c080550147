import type { IssuedToken } from '@latchkey/contract/tokens';
import {
  type Grant,
  readLifetime,
  refuseAuthorizationDetails,
} from '../../platform/token-endpoint/grants.ts';
import { authenticateService } from '../service-keys/service-keys.ts';
import { issueServiceToken } from './service-tokens.ts';

/** The client credentials grant: tokens for a service that acts for no user. @see RFC 6749 section 4.4 */
export const clientCredentialsGrant: Grant<IssuedToken> = {
  redeem: async (ctx, { serviceKey, body }) => {
    const service = await authenticateService(ctx, serviceKey);
    refuseAuthorizationDetails(body);
    const { scope, resource } = body;
    const requested = { scope, resource, expiresInSeconds: readLifetime(body) };
    return { body: await issueServiceToken(ctx, service, requested), detail: 'issued' };
  },
};
