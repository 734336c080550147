import type { ProfileView } from '@latchkey/contract/account';
import { connect } from '../connection.ts';
import type { Context } from '../context.ts';
import { shortened } from '../text.ts';

/** `latchkey whoami`: the signed-in user, as the server reports it. */
export async function whoami(ctx: Context): Promise<void> {
  const { session, server } = await connect(ctx);
  const profile = await session.call('getProfile', { signal: ctx.signal });
  ctx.output.result(profile, () => [`${shortened(nameOf(profile))} at ${server}`]);
}

/** A narrow token may see neither name nor address; the id is always there. */
const nameOf = ({ id, name, email }: ProfileView): string =>
  [name, email === undefined ? undefined : `<${email}>`].filter((part) => part !== undefined).join(' ') || id;
