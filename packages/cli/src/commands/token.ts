import type { IssuedToken } from '@latchkey/contract/tokens';
import { connect, connectWithoutCredential } from '../connection.ts';
import type { Context } from '../context.ts';
import { cancellable, UsageError } from '../exit.ts';
import { checkedExpiry, requestedAccess } from '../text-input.ts';
import { issueToken, ownToken } from '../tokens.ts';

export interface TokenOptions {
  /** In a job, the key that trusts the token of its CI system. */
  readonly federated?: string;
  readonly scope?: readonly string[];
  readonly resource?: string;
  readonly expires?: string;
}

/** `latchkey token`: a valid access token, or a key, for scripts; with a scope, one that allows less. */
export async function token(ctx: Context, options: TokenOptions): Promise<void> {
  const { federated, scope, resource, expires } = options;
  if (federated === '') throw new UsageError('A key ID cannot be empty.');
  const expiresInSeconds = expires === undefined ? undefined : checkedExpiry(expires);
  if (federated !== undefined) {
    const wanted = { resource, ...(scope && requestedAccess(scope, resource)), expiresInSeconds };
    const api = await connectWithoutCredential(ctx);
    const { federatedToken } = await import('@latchkey/client/federation');
    const request = { api, keyId: federated, ...wanted, signal: ctx.signal };
    return print(ctx, () => federatedToken(request).catch(usageError));
  }
  if (scope !== undefined) {
    const wanted = { ...requestedAccess(scope, resource), expiresInSeconds };
    const connection = await connect(ctx);
    return print(ctx, () => issueToken(connection, wanted, ctx.signal));
  }
  if (resource !== undefined || expires !== undefined) {
    const option = resource === undefined ? '--expires' : '--resource';
    throw new UsageError(`${option} is for a token with a scope of its own.`, 'Add --scope.');
  }
  const { token: access_token, expiresAt } = await ownToken(await connect(ctx), ctx.signal);
  const left = expiresAt === undefined ? undefined : Math.floor((expiresAt - Date.now()) / 1000);
  const expires_in = left === undefined ? {} : { expires_in: Math.max(0, left) };
  ctx.output.result({ access_token, token_type: 'Bearer', ...expires_in }, () => [access_token]);
}

async function print({ output }: Context, issue: () => Promise<IssuedToken>): Promise<void> {
  const issued = await cancellable('Cancelled, but the server may already have issued the token.', issue);
  output.result(issued, () => [issued.access_token]);
}

/** @throws {UsageError} if the job has no token */
function usageError(error: unknown): never {
  if (!(error instanceof TypeError)) throw error;
  throw new UsageError(error.message);
}
