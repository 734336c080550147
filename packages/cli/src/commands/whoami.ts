import { connect } from '../connection.ts';
import type { Context } from '../context.ts';

/** `latchkey whoami`: the signed-in user, as the server reports it. */
export async function whoami(ctx: Context): Promise<void> {
  const { session, server } = await connect(ctx);
  const profile = await session.call('getProfile', { signal: ctx.signal });
  ctx.output.result(profile, () => [`${profile.name} <${profile.email}> at ${server}`]);
}
