import { connect } from '../connection.ts';
import type { Context } from '../context.ts';
import { localTime, table } from '../text.ts';

/** `latchkey passkeys`: the user's passkeys, newest first. They are made and removed in the browser. */
export async function passkeys(ctx: Context): Promise<void> {
  const { session, server } = await connect(ctx);
  const answer = await session.call('listPasskeys', { signal: ctx.signal });
  ctx.output.result(answer, () =>
    answer.passkeys.length === 0
      ? [`You have no passkeys yet. Add one at ${server}/account.`]
      : table([
          ['ID', 'NAME', 'BACKED UP', 'MADE', 'LAST USED'],
          ...answer.passkeys.map(({ id, name, backed_up, created_at, last_used_at }) => [
            id,
            name,
            backed_up ? 'yes' : 'no',
            localTime(created_at),
            last_used_at === null ? 'never' : localTime(last_used_at),
          ]),
        ]),
  );
}
