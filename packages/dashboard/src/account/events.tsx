import type { Event } from '@latchkey/contract/events';
import type { Session } from '@latchkey/contract/sessions';
import { effect, signal, untracked } from '@preact/signals';
import { listEvents, type Problem } from '../api.ts';
import { busyState } from '../ui/busy.ts';
import { Claimed } from '../ui/claimed.tsx';
import { ErrorMessage } from '../ui/messages.tsx';
import { Moment } from '../ui/moment.tsx';
import { ShowMore } from '../ui/show-more.tsx';
import { explain } from '../words.ts';
import { changes, noticing } from './as-user.tsx';
import { eventWords, isAlarming } from './event-words.ts';
import { Fetched, partOf, Section } from './section.tsx';

const events = signal<readonly Event[]>([]);
const cursor = signal<string | null>(null);
const error = signal('');
const busy = busyState();

/** Fetches the newest events, and forgets the older ones. */
async function loadEvents(): Promise<Problem | undefined> {
  const list = noticing(await listEvents());
  if (!list.ok) return list.problem;
  events.value = list.value.events;
  cursor.value = list.value.next_cursor;
  return undefined;
}

export const eventsPart = partOf('events', 'The security log', loadEvents);

/** Puts what is new on top. Where more has happened than one page holds, the list begins anew. */
async function catchUp(): Promise<void> {
  if (eventsPart.at.value !== 'shown') return;
  const list = await listEvents();
  if (!list.ok) return;
  const known = new Set(events.value.map(({ id }) => id));
  const fresh = list.value.events.filter(({ id }) => !known.has(id));
  if (fresh.length < list.value.events.length) {
    // A change within a minute of another one of its kind is added to the event of the first.
    const newest = new Map(list.value.events.map((event) => [event.id, event]));
    events.value = [...fresh, ...events.value.map((event) => newest.get(event.id) ?? event)];
    return;
  }
  events.value = fresh;
  cursor.value = list.value.next_cursor;
}

effect(() => {
  if (changes.value > 0) untracked(() => void catchUp());
});

const showMore = (after: string) =>
  busy.run(async () => {
    error.value = '';
    const list = noticing(await listEvents(after));
    if (!list.ok) {
      error.value = explain(list.problem);
      return undefined;
    }
    events.value = [...events.value, ...list.value.events];
    cursor.value = list.value.next_cursor;
    return undefined;
  });

/** The user's logins, once they are known. */
type KnownSessions = readonly Session[] | undefined;

/** The login an event belongs to, as far as this page knows it. */
function InLogin({ id, sessions }: { id: string | null; sessions: KnownSessions }) {
  if (id === null || sessions === undefined) return null;
  const session = sessions.find((one) => one.id === id);
  if (session === undefined) return <>, in a login that has ended</>;
  if (session.current) return <>, in this login</>;
  if (session.device_name === null) return <>, in another login</>;
  return (
    <>
      , in the login of <Claimed text={session.device_name} />
    </>
  );
}

function Where({ event, sessions }: { event: Event; sessions: KnownSessions }) {
  const where = (
    <>
      <Moment at={event.created_at} />, from {event.ip_address ?? 'an unknown address'}
      <InLogin id={event.session_id} sessions={sessions} />
    </>
  );
  if (event.user_agent === null) return <p class="quiet">{where}</p>;
  return (
    <details class="quiet">
      <summary>{where}</summary>
      <p>
        The program called itself <Claimed text={event.user_agent} />.
      </p>
    </details>
  );
}

/** What happened in the account, newest first. */
export function SecurityLog({ sessions }: { sessions: KnownSessions }) {
  return (
    <Section of={eventsPart} title="Security log">
      <p class="quiet">
        What happened in your account, newest first. If you do not recognize a login, sign it out.
      </p>
      <Fetched of={eventsPart} entries={4}>
        <ul id="events" class="plain-list">
          {events.value.map((event) => (
            <li key={event.id}>
              <p class={isAlarming(event) ? 'caution' : ''}>
                <strong>{eventWords(event)}</strong>
              </p>
              <Where event={event} sessions={sessions} />
            </li>
          ))}
        </ul>
        <ErrorMessage id="events-error" text={error.value} />
        <ShowMore
          id="more-events"
          after={cursor.value}
          isBusy={busy.now.value}
          onMore={(after) => void showMore(after)}
        />
      </Fetched>
    </Section>
  );
}
