import { connect } from '../connection.ts';
import type { Context } from '../context.ts';
import { cancellable } from '../exit.ts';

export interface LogoutOptions {
  /** Every login of the user, on every device. */
  readonly all?: boolean;
}

/** `latchkey logout`: the credentials go once the server has agreed, or knows them no more. */
export async function logout(ctx: Context, { all = false }: LogoutOptions): Promise<void> {
  const { session, server } = await connect(ctx);
  await cancellable('Logout cancelled, but the server may already have ended the login.', () =>
    session.logout({ everywhere: all, signal: ctx.signal }),
  );
  ctx.output.result({ server, scope: all ? 'all' : 'session' }, () => [
    all ? `Logged out of ${server}, here and everywhere else.` : `Logged out of ${server}.`,
  ]);
}
