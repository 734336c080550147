import { hasCode, LatchkeyError } from '@latchkey/client/errors';
import type { Session } from '@latchkey/client/session';
import type { Session as Listed } from '@latchkey/contract/sessions';
import { connect } from '../connection.ts';
import type { Context } from '../context.ts';
import { cancellable } from '../exit.ts';
import { allPages, moreLines } from '../pages.ts';
import { localTime, table } from '../text.ts';

/** `latchkey sessions`: the user's logins, newest first. */
export async function listSessions(ctx: Context): Promise<void> {
  const { session } = await connect(ctx);
  const { entries, next_cursor } = await allSessions(session, ctx.signal);
  ctx.output.result({ sessions: entries, next_cursor }, () => [
    ...table([
      ['ID', 'WHERE', 'HOW', 'ADDRESS', 'SINCE', 'LAST USED'],
      ...entries.map((listed) => [
        listed.id,
        whereabouts(listed),
        listed.method.replaceAll('_', ' '),
        listed.ip_address ?? '-',
        localTime(listed.created_at),
        `${localTime(listed.last_used_at)}${listed.current ? ' (this one)' : ''}`,
      ]),
    ]),
    ...moreLines(next_cursor),
  ]);
}

/** `latchkey sessions revoke ID`: ends one login; when it is the one in use, the credentials go with it. */
export async function revokeSession(ctx: Context, id: string): Promise<void> {
  const { session, server } = await connect(ctx);
  const { entries } = await allSessions(session, ctx.signal);
  const current = entries.find((listed) => listed.current)?.id === id;
  await cancellable('Cancelled, but the server may already have ended that login.', () =>
    current ? session.logout({ signal: ctx.signal }) : endOther(session, id, ctx.signal),
  );
  ctx.output.result({ id, current }, () => [
    current
      ? `That was the login in use here: you are logged out of ${server}.`
      : `${id} is over, from this moment on.`,
  ]);
}

async function endOther(session: Session, id: string, signal: AbortSignal): Promise<void> {
  try {
    await session.call('revokeSession', { params: { id }, signal });
  } catch (error) {
    if (!hasCode(error, 'not_found')) throw error;
    const { status, requestId } = error;
    throw new LatchkeyError('not_found', `There is no login ${id} of yours.`, { status, requestId });
  }
}

const allSessions = (session: Session, signal: AbortSignal) =>
  allPages<Listed>(async (query) => {
    const page = await session.call('listSessions', { query, signal });
    return { entries: page.sessions, next_cursor: page.next_cursor };
  });

/** What the program and the device call themselves, else what kind of login it is. */
const whereabouts = ({ kind, client_name, device_name }: Listed): string =>
  [client_name, device_name].filter((name) => name !== null).join(' on ') || kind;
