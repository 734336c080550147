import { connect } from '../connection.ts';
import type { Context } from '../context.ts';
import { cancellable } from '../exit.ts';

export interface LogoutOptions {
  /** End every session of the user, on every device. */
  readonly all?: boolean;
}

/** `latchkey logout`: removes the credentials once the server has ended the session or no longer knows it. */
export async function logout(ctx: Context, { all = false }: LogoutOptions): Promise<void> {
  const { session, server } = await connect(ctx);
  await cancellable('Logout cancelled, but the server may already have ended the session.', () =>
    session.logout({ everywhere: all, signal: ctx.signal }),
  );
  ctx.output.result({ server, scope: all ? 'all' : 'session' }, () => [
    all ? `Signed out of ${server}, here and everywhere else.` : `Signed out of ${server}.`,
  ]);
}
