import { endpoints } from '@latchkey/contract/endpoints';
import type { IssuedToken } from '@latchkey/contract/tokens';
import type { Context } from '../platform/context.ts';
import type { Api } from '../platform/http/pipeline.ts';
import { type Grant, readLifetime, refuseAuthorizationDetails } from '../platform/token-endpoint/grants.ts';
import { authenticateService } from './authentication.ts';
import { listScopes } from './scopes.ts';
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

export function scopeRoutes(api: Api, ctx: Context): void {
  api.answer(endpoints.listScopes, () => listScopes(ctx.db.read));
}
