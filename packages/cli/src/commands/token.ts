import { connect } from '../connection.ts';
import type { Context } from '../context.ts';
import { UsageError } from '../exit.ts';
import { ownToken } from '../tokens.ts';

export interface TokenOptions {
  readonly federated?: string;
  readonly scope?: readonly string[];
  readonly resource?: string;
  readonly expires?: string;
}

/** `latchkey token`: a valid access token, or a key, for scripts; with a scope, one that allows less. */
export async function token(
  ctx: Context,
  { federated, scope, resource, expires }: TokenOptions,
): Promise<void> {
  if (federated !== undefined)
    return (await import('../federated-token.ts')).federatedToken(ctx, federated, scope, resource, expires);
  if (scope !== undefined)
    return (await import('../narrow-token.ts')).narrowToken(ctx, scope, resource, expires);
  if (resource !== undefined || expires !== undefined) {
    const option = resource === undefined ? '--expires' : '--resource';
    throw new UsageError(`${option} is for a token with a scope of its own.`, 'Add --scope.');
  }
  const { token: access_token, expiresAt } = await ownToken(await connect(ctx), ctx.signal);
  const left = expiresAt === undefined ? undefined : Math.floor((expiresAt - Date.now()) / 1000);
  const expiry = left === undefined ? {} : { expires_in: Math.max(0, left) };
  ctx.output.result({ access_token, token_type: 'Bearer', ...expiry }, () => [access_token]);
}
