import type { Event } from '@latchkey/contract/events';
import type { Session } from '@latchkey/contract/sessions';
import { effect, signal, untracked } from '@preact/signals';
import { listEvents, type Problem } from '../api.ts';
import { explain } from '../error-messages.ts';
import { busyState } from '../ui/busy.ts';
import { ErrorMessage } from '../ui/messages.tsx';
import { ShowMore } from '../ui/show-more.tsx';
import { Timestamp } from '../ui/timestamp.tsx';
import { Untrusted } from '../ui/untrusted.tsx';
import { changes, detectSignOut } from './actions.tsx';
import { eventText, isAlarming } from './event-text.ts';
import { Section, SectionContent, sectionData } from './section.tsx';

const events = signal<readonly Event[]>([]);
const cursor = signal<string | null>(null);
const error = signal('');
const busy = busyState();

/** Fetches the newest events, and forgets the older ones. */
async function loadEvents(): Promise<Problem | undefined> {
  const list = detectSignOut(await listEvents());
  if (!list.ok) return list.problem;
  events.value = list.value.events;
  cursor.value = list.value.next_cursor;
  return undefined;
}

export const activityData = sectionData('events', 'The security log', loadEvents);

/** Puts what is new on top. Where more has happened than one page holds, the list begins anew. */
async function catchUp(): Promise<void> {
  if (activityData.at.value !== 'shown') return;
  const list = await listEvents();
  if (!list.ok) return;
  const known = new Set(events.value.map(({ id }) => id));
  const fresh = list.value.events.filter(({ id }) => !known.has(id));
  if (fresh.length < list.value.events.length) {
    events.value = [...fresh, ...events.value];
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
    const list = detectSignOut(await listEvents(after));
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
function InSession({ id, sessions }: { id: string | null; sessions: KnownSessions }) {
  if (id === null || sessions === undefined) return null;
  const session = sessions.find((one) => one.id === id);
  if (session === undefined) return <>, in a login that has ended</>;
  if (session.current) return <>, in this login</>;
  if (session.device_name === null) return <>, in another login</>;
  return (
    <>
      , in the login of <Untrusted text={session.device_name} />
    </>
  );
}

function Where({ event, sessions }: { event: Event; sessions: KnownSessions }) {
  const where = (
    <>
      <Timestamp at={event.created_at} />, from {event.ip_address ?? 'an unknown address'}
      <InSession id={event.session_id} sessions={sessions} />
    </>
  );
  if (event.user_agent === null) return <p class="quiet">{where}</p>;
  return (
    <details class="quiet">
      <summary>{where}</summary>
      <p>
        The program called itself <Untrusted text={event.user_agent} />.
      </p>
    </details>
  );
}

/** What happened in the account, newest first. */
export function Activity({ sessions }: { sessions: KnownSessions }) {
  return (
    <Section of={activityData} title="Security log">
      <p class="quiet">
        What happened in your account, newest first. If you do not recognize a login, sign it out.
      </p>
      <SectionContent of={activityData} entries={4}>
        <ul id="events" class="plain-list">
          {events.value.map((event) => (
            <li key={event.id}>
              <p class={isAlarming(event) ? 'caution' : ''}>
                <strong>{eventText(event)}</strong>
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
      </SectionContent>
    </Section>
  );
}
