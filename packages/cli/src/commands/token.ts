import { exchangeToken } from '@latchkey/client/token-exchange';
import { fieldLimits } from '@latchkey/contract/field-limits';
import { connect } from '../connection.ts';
import type { Context } from '../context.ts';
import { cancellable, UsageError } from '../exit.ts';
import { requestedAccess } from '../requested-access.ts';
import { parseDuration } from '../text-input.ts';
import { ownToken } from '../tokens.ts';

export interface TokenOptions {
  readonly scope?: readonly string[];
  readonly resource?: string;
  readonly expires?: string;
}

/** `latchkey token`: a valid access token, or a key, for scripts; with a scope, one that allows less. */
export async function token(ctx: Context, { scope, resource, expires }: TokenOptions): Promise<void> {
  if (scope !== undefined) return narrowToken(ctx, scope, resource, expires);
  if (resource !== undefined || expires !== undefined) {
    const option = resource === undefined ? '--expires' : '--resource';
    throw new UsageError(`${option} is for a token with a scope of its own.`, 'Add --scope.');
  }
  const { token: access_token, expiresAt } = await ownToken(await connect(ctx), ctx.signal);
  const left = expiresAt === undefined ? undefined : Math.floor((expiresAt - Date.now()) / 1000);
  const expiry = left === undefined ? {} : { expires_in: Math.max(0, left) };
  ctx.output.result({ access_token, token_type: 'Bearer', ...expiry }, () => [access_token]);
}

async function narrowToken(
  ctx: Context,
  scope: readonly string[],
  resource: string | undefined,
  expires: string | undefined,
): Promise<void> {
  const access = requestedAccess(scope, resource);
  const expiry = expires === undefined ? {} : { expiresInSeconds: checkedExpiry(expires) };
  const { api, session } = await connect(ctx);
  const issued = await cancellable('Cancelled, but the server may already have issued the token.', () =>
    exchangeToken({ api, session, ...access, ...expiry, signal: ctx.signal }),
  );
  ctx.output.result(issued, () => [issued.access_token]);
}

/** @throws {UsageError} */
function checkedExpiry(text: string): number {
  const seconds = parseDuration('--expires', text);
  if (seconds >= fieldLimits.runMinSeconds && seconds <= fieldLimits.runMaxSeconds) return seconds;
  throw new UsageError('A token with a scope of its own can expire in 60 seconds to 1 hour.');
}
