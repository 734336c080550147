import type { Session } from '@latchkey/contract/sessions';
import { escapeInvisible } from '@latchkey/contract/untrusted-text';
import { effect, signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { listSessions, logout, type Problem, revokeSession } from '../api.ts';
import { reauthentications } from '../confirm/confirm.tsx';
import { explain } from '../error-messages.ts';
import { productName } from '../product.ts';
import { noteSignOut } from '../signed-out.ts';
import { busyState } from '../ui/busy.ts';
import { ErrorMessage, StatusMessage } from '../ui/messages.tsx';
import { Timestamp } from '../ui/timestamp.tsx';
import { Untrusted, UntrustedHint } from '../ui/untrusted.tsx';
import { UserAgent } from '../ui/user-agent.tsx';
import { detectSignOut, runAction } from './actions.tsx';
import { everything, sentencesOf } from './key-request.ts';
import { known, loadKnownScopes, serviceOf } from './known-scopes.ts';
import { focusHeading, Section, SectionContent, sectionData } from './section.tsx';
import { signInMethods } from './sign-in-methods.ts';

/** The user's sessions, newest first, once loaded. */
export const sessions = signal<readonly Session[] | undefined>(undefined);

const error = signal('');
const status = signal('');
const busy = busyState<'everywhere'>();
/** Signing out everywhere needs a second click. */
const isConfirmingEverywhere = signal(false);

/** Further sessions are shown on request. */
const initiallyShown = 10;
const showsAll = signal(false);

const kinds = { browser: 'Browser', device: 'Device', run: 'Run' } satisfies Record<Session['kind'], string>;

async function loadSessions(): Promise<Problem | undefined> {
  const list = detectSignOut(await listSessions());
  if (!list.ok) return list.problem;
  // Only a narrow session needs the sentences of scopes. If they can't be loaded, the list shows the names of scopes.
  if (list.value.some(isNarrow)) await loadKnownScopes();
  sessions.value = list.value;
  return undefined;
}

/** Missing from the response of a node that runs an earlier release, whose sessions may do everything. */
const isNarrow = ({ scope = everything, resource = null }: Session): boolean =>
  scope !== everything || resource !== null;

export const sessionsData = sectionData('sessions', 'Your sessions', loadSessions);

// Confirming one's identity replaces the current session.
effect(() => {
  if (reauthentications.value > 0) void loadSessions();
});

const run = (action: () => Promise<'leaving' | undefined>, progress?: 'everywhere') =>
  busy.run(() => {
    error.value = '';
    status.value = '';
    return action();
  }, progress);

const signOut = (scope: 'session' | 'everywhere') =>
  run(
    async () => {
      const result = await runAction(() => logout(scope));
      if (!result.ok) {
        error.value = explain(result.problem);
        return undefined;
      }
      noteSignOut(scope);
      location.replace('/login');
      return 'leaving';
    },
    scope === 'everywhere' ? scope : undefined,
  );

/** Ends a session. One that has already ended counts as success. */
async function end(ended: Session): Promise<Problem | undefined> {
  const result = await runAction(() => revokeSession(ended.id));
  if (!result.ok && result.problem.code !== 'not_found') return result.problem;
  sessions.value = sessions.value?.filter(({ id }) => id !== ended.id);
  return undefined;
}

const endOneSession = (session: Session) =>
  run(async () => {
    const problem = await end(session);
    if (problem) {
      error.value = explain(problem);
      return undefined;
    }
    status.value = 'Session signed out.';
    focusHeading('sessions');
    return undefined;
  });

/** Ends all sessions but this one, including those started since the page was opened. */
const endOtherSessions = () =>
  run(async () => {
    let problem = await loadSessions();
    for (const session of sessions.value?.filter(({ current }) => !current) ?? []) {
      problem ??= await end(session);
    }
    if (problem) {
      error.value = explain(problem, {
        unreachable: `Couldn't reach ${productName}. Some sessions are still signed in. Try again.`,
        somebody_else:
          'Some sessions are still signed in, because this browser is now signed in to a different account.',
      });
      return undefined;
    }
    status.value = 'All other sessions signed out.';
    focusHeading('sessions');
    return undefined;
  });

/** What a narrow session may do. */
const accessOf = ({ scope }: Session): string =>
  sentencesOf(scope, known.value).map(escapeInvisible).join(' · ') || 'Nothing in your account';

function SessionItem({ session }: { session: Session }) {
  const title = `session-${session.id}`;
  return (
    <li class="session" data-session={session.id} aria-labelledby={title}>
      <div>
        <p id={title}>
          <strong>{kinds[session.kind]}</strong>{' '}
          {session.device_name === null ? null : <Untrusted text={session.device_name} />}{' '}
          {session.client_name === null ? null : <Untrusted text={session.client_name} />}{' '}
          {session.current ? <span class="badge">This session</span> : null}
          {session.resource ? (
            <span class="badge">
              Only <bdi>{escapeInvisible(serviceOf(session.resource))}</bdi>
            </span>
          ) : null}
        </p>
        {isNarrow(session) ? <p>{accessOf(session)}</p> : null}
        <p class="quiet">
          Signed in {signInMethods[session.method]} on <Timestamp at={session.created_at} /> ·{' '}
          {session.ip_address ?? 'Unknown IP address'} · Last used <Timestamp at={session.last_used_at} />
        </p>
        {session.user_agent === null ? null : <UserAgent text={session.user_agent} />}
      </div>
      {session.current ? null : (
        <button
          type="button"
          disabled={busy.now.value}
          aria-describedby={title}
          onClick={() => void endOneSession(session)}
        >
          Sign out
        </button>
      )}
    </li>
  );
}

function SignOutEverywhereQuestion() {
  const question = useRef<HTMLParagraphElement>(null);
  useEffect(() => question.current?.focus(), []);
  return (
    <>
      <p ref={question} tabIndex={-1} class="warning">
        Sign out everywhere? This ends all your sessions, including this one and those on your devices.
        Approvals for devices that haven't finished signing in are withdrawn.
      </p>
      <div class="row">
        <button
          type="button"
          id="confirm-sign-out-everywhere"
          disabled={busy.now.value}
          onClick={() => void signOut('everywhere')}
        >
          {busy.label('everywhere', 'Yes, sign out everywhere')}
        </button>
        <button
          type="button"
          disabled={busy.now.value}
          onClick={() => {
            isConfirmingEverywhere.value = false;
            requestAnimationFrame(() => document.getElementById('sign-out-everywhere')?.focus());
          }}
        >
          Cancel
        </button>
      </div>
    </>
  );
}

function SignOutButtons() {
  if (isConfirmingEverywhere.value) return <SignOutEverywhereQuestion />;
  const hasOthers = sessions.value?.some(({ current }) => !current);
  return (
    <div class="row">
      <button type="button" id="sign-out" disabled={busy.now.value} onClick={() => void signOut('session')}>
        Sign out here
      </button>
      {hasOthers ? (
        <button
          type="button"
          id="sign-out-others"
          disabled={busy.now.value}
          onClick={() => void endOtherSessions()}
        >
          Sign out other sessions
        </button>
      ) : null}
      <button
        type="button"
        id="sign-out-everywhere"
        disabled={busy.now.value}
        onClick={() => {
          isConfirmingEverywhere.value = true;
        }}
      >
        Sign out everywhere
      </button>
    </div>
  );
}

/** Shows all sessions and moves the focus to the first new one, since the button is gone. */
function showAll(): void {
  showsAll.value = true;
  requestAnimationFrame(() =>
    document.querySelector<HTMLElement>(`#sessions > li:nth-child(${initiallyShown + 1}) button`)?.focus(),
  );
}

/** The current session, then the newest others. */
function List({ all }: { all: readonly Session[] }) {
  const ordered = [...all].sort((one, other) => Number(other.current) - Number(one.current));
  const shown = showsAll.value ? ordered : ordered.slice(0, initiallyShown);
  return (
    <>
      <ul id="sessions" class="plain-list" aria-labelledby="sessions-heading">
        {shown.map((session) => (
          <SessionItem key={session.id} session={session} />
        ))}
      </ul>
      {shown.length < all.length ? (
        <button type="button" id="all-sessions" class="plain" onClick={showAll}>
          Show all {all.length} sessions
        </button>
      ) : null}
      <UntrustedHint />
    </>
  );
}

/** The user's sessions, and signing out of one, all others or all. */
export function Sessions() {
  return (
    <Section data={sessionsData} title="Sessions">
      <ErrorMessage text={error.value} />
      <StatusMessage>{status.value}</StatusMessage>
      <SectionContent data={sessionsData} entries={2}>
        <List all={sessions.value ?? []} />
      </SectionContent>
      <SignOutButtons />
    </Section>
  );
}
