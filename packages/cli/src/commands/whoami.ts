import { connect } from '../connection.ts';
import type { Context } from '../context.ts';

/** `latchkey whoami`: whose login this is, as the server sees it. */
export async function whoami(ctx: Context): Promise<void> {
  const { session, server } = await connect(ctx);
  const profile = await session.call('getProfile', { signal: ctx.signal });
  ctx.output.result(profile, () => [`${profile.name} <${profile.email}> at ${server}`]);
}
