import { connect } from './connection.ts';
import type { Context } from './context.ts';
import { cancellable } from './exit.ts';
import { requestedAccess } from './requested-access.ts';
import { checkedExpiry } from './text-input.ts';
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
