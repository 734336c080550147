import type { Event } from '@latchkey/contract/events';
import { effect, untracked } from '@preact/signals';
import { browserText } from '../format.ts';
import { fillParts, texts } from '../texts.ts';
import { Details, RelativeTime, Timestamp, Untrusted, UntrustedHint } from '../ui/facts.tsx';
import * as icons from '../ui/icons.ts';
import { Row } from '../ui/row.tsx';
import { changeCount, upToDate } from './actions.tsx';
import { eventText, isSuspicious } from './event-text.ts';
import { Claim } from './parts.tsx';
import { listEvents } from './requests.ts';
import { pagedData, Section, ShowMore } from './section.tsx';
import { sessions } from './sessions.tsx';

export const activityData = pagedData('events', texts.account.sections.activity, listEvents);
const { entries: events, cursor } = activityData;

/** Reads the events that are shown and newer ones. Old ones may have changed: a similar change within a minute is added. */
async function catchUp(): Promise<void> {
  if (activityData.state.value !== 'loaded') return;
  const list = await upToDate(() => listEvents(undefined, events.value.length));
  if (!list.ok) return;
  const { events: newest, next_cursor } = list.value;
  const last = newest.findIndex(({ id }) => id === events.value.at(-1)?.id);
  events.value = last < 0 ? newest : newest.slice(0, last + 1);
  if (last < 0) cursor.value = next_cursor;
}

effect(() => {
  if (changeCount.value > 0) untracked(() => void catchUp());
});

/** By the start of the type. */
const iconsOfTypes: readonly (readonly [string, string])[] = [
  ['login', icons.browserIcon],
  ['device', icons.terminalIcon],
  ['passkey', icons.passkeyIcon],
  ['key', icons.keyIcon],
  ['session_', icons.signOutIcon],
  ['all_sessions', icons.signOutIcon],
  ['profile', icons.profileIcon],
  ['account_created', icons.profileIcon],
  ['email', icons.emailIcon],
  ['membership', icons.organizationIcon],
];

function eventIcon(event: Event): string {
  if (isSuspicious(event)) return icons.suspiciousIcon;
  if (event.type === 'login' && event.detail['kind'] === 'device') return icons.terminalIcon;
  return iconsOfTypes.find(([start]) => event.type.startsWith(start))?.[1] ?? icons.securityIcon;
}

/** What a session called itself as it signed in, else its browser. Later events may come from another one. */
function nameAtSignIn(id: string) {
  const login = events.value.find(({ type, session_id }) => type === 'login' && session_id === id);
  const name = login?.detail['device_name'] ?? login?.detail['client_name'];
  return name === undefined ? browserText(login?.user_agent ?? '') : <Untrusted text={String(name)} />;
}

/** The session an event belongs to, as far as this page can tell. */
function InSession({ event: { session_id: id } }: { event: Event }) {
  const { activity, labelled } = texts.account;
  if (id === null || sessions.value === undefined) return null;
  const session = sessions.value.find((one) => one.id === id);
  if (session === undefined) {
    const name = nameAtSignIn(id);
    const label = activity.endedSession;
    return <> · {name === undefined ? label : fillParts(labelled, { label, value: name })}</>;
  }
  if (session.current) return <> · {texts.account.thisSession}</>;
  if (session.device_name === null) return <> · {activity.anotherSession}</>;
  return (
    <>
      {' '}
      · <Untrusted text={session.device_name} />
    </>
  );
}

function When({ event }: { event: Event }) {
  const { created_at, ip_address, user_agent } = event;
  const summary = (
    <>
      <RelativeTime at={created_at} /> · {ip_address ?? texts.account.unknownIpAddress}
      <InSession event={event} />
    </>
  );
  if (user_agent === null) return <p>{summary}</p>;
  const name = browserText(user_agent);
  return (
    <Details summary={summary}>
      <p>
        <Timestamp at={created_at} />
      </p>
      {name === undefined ? null : <p>{name}</p>}
      <Claim label={texts.common.userAgent} text={user_agent} />
      <UntrustedHint />
    </Details>
  );
}

export const Activity = () => (
  <Section data={activityData} above={<p class="quiet">{texts.account.activity.text}</p>} entries={4}>
    <ul id="events" class="plain-list">
      {events.value.map((event) => (
        <Row key={event.id} icon={eventIcon(event)} isCaution={isSuspicious(event)} title={eventText(event)}>
          <When event={event} />
        </Row>
      ))}
    </ul>
    <ShowMore data={activityData} />
  </Section>
);
