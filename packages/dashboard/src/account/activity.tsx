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
import { changeCount, detectSignOut } from './actions.tsx';
import { eventText, isSuspicious } from './event-text.ts';
import { Section, SectionContent, sectionData } from './section.tsx';

const events = signal<readonly Event[]>([]);
const cursor = signal<string | null>(null);
const error = signal('');
const busy = busyState();

/** Loads the newest page of events and drops the older ones. */
async function loadEvents(): Promise<Problem | undefined> {
  const list = detectSignOut(await listEvents());
  if (!list.ok) return list.problem;
  events.value = list.value.events;
  cursor.value = list.value.next_cursor;
  return undefined;
}

export const activityData = sectionData('events', 'Your activity', loadEvents);

/** Adds new events at the top. If there are more than one page of them, starts over with the newest page. */
async function catchUp(): Promise<void> {
  if (activityData.state.value !== 'loaded') return;
  const list = await listEvents();
  if (!list.ok) return;
  const known = new Set(events.value.map(({ id }) => id));
  const added = list.value.events.filter(({ id }) => !known.has(id));
  if (added.length < list.value.events.length) {
    // An event shown before may have changed: a similar change within a minute is added to it.
    const newest = new Map(list.value.events.map((event) => [event.id, event]));
    events.value = [...added, ...events.value.map((event) => newest.get(event.id) ?? event)];
    return;
  }
  events.value = added;
  cursor.value = list.value.next_cursor;
}

effect(() => {
  if (changeCount.value > 0) untracked(() => void catchUp());
});

const showMore = (next: string) =>
  busy.run(async () => {
    error.value = '';
    const list = detectSignOut(await listEvents(next));
    if (!list.ok) {
      error.value = explain(list.problem);
      return undefined;
    }
    events.value = [...events.value, ...list.value.events];
    cursor.value = list.value.next_cursor;
    return undefined;
  });

/** The user's sessions, once loaded. */
type LoadedSessions = readonly Session[] | undefined;

/** The session an event belongs to, as far as this page can tell. */
function InSession({ id, sessions }: { id: string | null; sessions: LoadedSessions }) {
  if (id === null || sessions === undefined) return null;
  const session = sessions.find((one) => one.id === id);
  if (session === undefined) return <> · Ended session</>;
  if (session.current) return <> · This session</>;
  if (session.device_name === null) return <> · Another session</>;
  return (
    <>
      {' '}
      · <Untrusted text={session.device_name} />
    </>
  );
}

function Details({ event, sessions }: { event: Event; sessions: LoadedSessions }) {
  const summary = (
    <>
      <Timestamp at={event.created_at} /> · {event.ip_address ?? 'Unknown IP address'}
      <InSession id={event.session_id} sessions={sessions} />
    </>
  );
  if (event.user_agent === null) return <p class="quiet">{summary}</p>;
  return (
    <details class="quiet">
      <summary>{summary}</summary>
      <p>
        User agent: <Untrusted text={event.user_agent} />
      </p>
    </details>
  );
}

/** The user's security log, newest first. */
export function Activity({ sessions }: { sessions: LoadedSessions }) {
  return (
    <Section data={activityData} title="Activity">
      <p class="quiet">
        Recent security events in your account. If you don't recognize a session, sign it out above.
      </p>
      <SectionContent data={activityData} entries={4}>
        <ul id="events" class="plain-list">
          {events.value.map((event) => (
            <li key={event.id}>
              <p class={isSuspicious(event) ? 'caution' : ''}>
                <strong>{eventText(event)}</strong>
              </p>
              <Details event={event} sessions={sessions} />
            </li>
          ))}
        </ul>
        <ErrorMessage id="events-error" text={error.value} />
        <ShowMore
          id="more-events"
          cursor={cursor.value}
          isBusy={busy.now.value}
          onMore={(next) => void showMore(next)}
        />
      </SectionContent>
    </Section>
  );
}
