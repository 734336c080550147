import { fieldLimits } from '@latchkey/contract/field-limits';
import { connect } from './connection.ts';
import type { Context } from './context.ts';
import { cancellable, UsageError } from './exit.ts';
import { requestedAccess } from './requested-access.ts';
import { parseDuration } from './text-input.ts';
import { issueToken } from './tokens.ts';

/** `latchkey token --scope`: a token that allows less than the login. */
export async function narrowToken(
  ctx: Context,
  scope: readonly string[],
  resource: string | undefined,
  expires: string | undefined,
): Promise<void> {
  const access = requestedAccess(scope, resource);
  const expiry = expires === undefined ? {} : { expiresInSeconds: checkedExpiry(expires) };
  const connection = await connect(ctx);
  const issued = await cancellable('Cancelled, but the server may already have issued the token.', () =>
    issueToken(connection, { ...access, ...expiry }, ctx.signal),
  );
  ctx.output.result(issued, () => [issued.access_token]);
}

/** @throws {UsageError} */
function checkedExpiry(text: string): number {
  const seconds = parseDuration('--expires', text);
  if (seconds >= fieldLimits.runMinSeconds && seconds <= fieldLimits.runMaxSeconds) return seconds;
  throw new UsageError('A token with a scope of its own can expire in 60 seconds to 1 hour.');
}
