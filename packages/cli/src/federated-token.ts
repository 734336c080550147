import { federatedToken as requestToken } from '@latchkey/client/federation';
import type { IssuedToken } from '@latchkey/contract/tokens';
import { connectWithoutCredential } from './connection.ts';
import type { Context } from './context.ts';
import { cancellable, UsageError } from './exit.ts';
import { requestedAccess } from './requested-access.ts';
import { checkedExpiry } from './text-input.ts';

/** `latchkey token --federated`: a token for a job that has a token of its CI system or cluster instead of a login. */
export async function federatedToken(
  ctx: Context,
  keyId: string,
  scope: readonly string[] | undefined,
  resource: string | undefined,
  expires: string | undefined,
): Promise<void> {
  if (keyId === '') throw new UsageError('A key ID cannot be empty.');
  const access = scope === undefined ? {} : requestedAccess(scope, resource);
  const expiry = expires === undefined ? {} : { expiresInSeconds: checkedExpiry(expires) };
  const api = await connectWithoutCredential(ctx);
  const issued = await cancellable('Cancelled, but the server may already have issued the token.', () =>
    requestToken({
      api,
      keyId,
      ...(resource === undefined ? {} : { resource }),
      ...access,
      ...expiry,
      signal: ctx.signal,
    }).catch(usageError),
  );
  ctx.output.result(issued, () => [issued.access_token]);
}

/** @throws {UsageError} if the job has no token */
function usageError(error: unknown): IssuedToken {
  if (!(error instanceof TypeError)) throw error;
  throw new UsageError(error.message, 'On GitHub, give the job the permission `id-token: write`.');
}
