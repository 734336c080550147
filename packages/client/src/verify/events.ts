/** What an event of the feed means for a kept answer. */
export interface FeedEvent {
  readonly user: string;
  /** The session or key that has ended, with all runs within it. Undefined for other events. */
  readonly endedSession: string | undefined;
  /** Everything that is known about the user may have changed. */
  readonly isAboutUser: boolean;
}

const credentialChange = 'https://schemas.openid.net/secevent/caep/event-type/credential-change';

/**
 * Reads a security event token without verifying its signature: it came from the service itself, over the connection that
 * authenticates this service. Undefined if it cannot be understood. Unknown types of events count as changes of the user.
 * @see RFC 8417 section 2.2
 */
export function readEvent(token: unknown): FeedEvent | undefined {
  if (typeof token !== 'string') return undefined;
  const { sub_id, events } = membersOf(payloadOf(token));
  const subject = membersOf(sub_id);
  const user = membersOf(subject['format'] === 'complex' ? subject['user'] : subject)['sub'];
  if (typeof user !== 'string') return undefined;
  const [[type, detail] = [undefined, undefined], ...others] = Object.entries(membersOf(events));
  if (type === undefined || others.length > 0) return undefined;
  const session = membersOf(subject['session'])['id'];
  const isEnd = type !== credentialChange || membersOf(detail)['change_type'] === 'delete';
  const endedSession = isEnd && typeof session === 'string' ? session : undefined;
  return { user, endedSession, isAboutUser: type !== credentialChange && endedSession === undefined };
}

const membersOf = (value: unknown) => Object(value) as Record<string, unknown>;

function payloadOf(token: string): unknown {
  try {
    const encoded = (token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/');
    const bytes = Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}
