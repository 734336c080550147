import type { Session } from '@latchkey/contract/sessions';
import { effect, signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { listSessions, logout, type Problem, revokeSession } from '../api.ts';
import { reauthentications } from '../confirm/confirm.tsx';
import { explain } from '../error-messages.ts';
import { noteSignOut } from '../signed-out.ts';
import { busyState } from '../ui/busy.ts';
import { ErrorMessage, StatusMessage } from '../ui/messages.tsx';
import { Timestamp } from '../ui/timestamp.tsx';
import { Untrusted } from '../ui/untrusted.tsx';
import { UserAgent } from '../ui/user-agent.tsx';
import { detectSignOut, runAction } from './actions.tsx';
import { focusHeading, Section, SectionContent, sectionData } from './section.tsx';

/** The user's logins, newest first, once they are known. */
export const sessions = signal<readonly Session[] | undefined>(undefined);

const error = signal('');
const status = signal('');
const busy = busyState<'everywhere'>();
/** Signing out everywhere takes a second click. */
const isAskingEverywhere = signal(false);

/** A person with more logins than this sees the others when they ask for them. */
const shownAtFirst = 10;
const isWhole = signal(false);

const kinds = { browser: 'Browser', device: 'Terminal' } satisfies Record<Session['kind'], string>;
const methods = {
  device_code: 'by approval in a browser',
  magic_link: 'by a link in a mail',
  email_code: 'by a code in a mail',
  passkey: 'with a passkey',
} satisfies Record<Session['method'], string>;

async function loadSessions(): Promise<Problem | undefined> {
  const list = detectSignOut(await listSessions());
  if (!list.ok) return list.problem;
  sessions.value = list.value;
  return undefined;
}

export const sessionsData = sectionData('logins', 'Your logins', loadSessions);

// A fresh login takes the place of the one before.
effect(() => {
  if (reauthentications.value > 0) void loadSessions();
});

const change = (work: () => Promise<'leaving' | undefined>, action?: 'everywhere') =>
  busy.run(() => {
    error.value = '';
    status.value = '';
    return work();
  }, action);

const signOut = (scope: 'session' | 'everywhere') =>
  change(
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

/** Ends a login; one that is gone already is as signed out as it can be. */
async function end(ended: Session): Promise<Problem | undefined> {
  const result = await runAction(() => revokeSession(ended.id));
  if (!result.ok && result.problem.code !== 'not_found') return result.problem;
  sessions.value = sessions.value?.filter(({ id }) => id !== ended.id);
  return undefined;
}

const endOneSession = (session: Session) =>
  change(async () => {
    const problem = await end(session);
    if (problem) {
      error.value = explain(problem);
      return undefined;
    }
    status.value = 'That login has been signed out.';
    focusHeading('logins');
    return undefined;
  });

/** Ends all but this one, also those that began since the page was opened. */
const endOtherSessions = () =>
  change(async () => {
    let problem = await loadSessions();
    for (const session of sessions.value?.filter(({ current }) => !current) ?? []) {
      problem ??= await end(session);
    }
    if (problem) {
      error.value = explain(problem, {
        unreachable: 'Latchkey could not be reached; not all are signed out.',
        somebody_else: 'Not all are signed out: this browser is signed in as somebody else now.',
      });
      return undefined;
    }
    status.value = 'All other logins have been signed out. Only this one is left.';
    focusHeading('logins');
    return undefined;
  });

function SessionItem({ session }: { session: Session }) {
  const title = `login-${session.id}`;
  return (
    <li class="login" data-session={session.id} aria-labelledby={title}>
      <div>
        <p id={title}>
          <strong>{kinds[session.kind]}</strong>{' '}
          {session.device_name === null ? null : <Untrusted text={session.device_name} />}{' '}
          {session.client_name === null ? null : <Untrusted text={session.client_name} />}{' '}
          {session.current ? <span class="badge">this one</span> : null}
        </p>
        <p class="quiet">
          Signed in <Timestamp at={session.created_at} /> {methods[session.method]}, from{' '}
          {session.ip_address ?? 'an unknown address'}. Last used <Timestamp at={session.last_used_at} />.
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
        Sign out everywhere? This ends every login, including terminals and this browser. Approvals that no
        terminal has picked up yet are taken back.
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
            isAskingEverywhere.value = false;
            requestAnimationFrame(() => document.getElementById('sign-out-everywhere')?.focus());
          }}
        >
          Stay signed in
        </button>
      </div>
    </>
  );
}

function SignOutButtons() {
  if (isAskingEverywhere.value) return <SignOutEverywhereQuestion />;
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
          Sign out all others
        </button>
      ) : null}
      <button
        type="button"
        id="sign-out-everywhere"
        disabled={busy.now.value}
        onClick={() => {
          isAskingEverywhere.value = true;
        }}
      >
        Sign out everywhere
      </button>
    </div>
  );
}

/** The button is gone then: whoever uses a keyboard goes on with the first login that was not there before. */
function showAll(): void {
  isWhole.value = true;
  requestAnimationFrame(() =>
    document.querySelector<HTMLElement>(`#logins > li:nth-child(${shownAtFirst + 1}) button`)?.focus(),
  );
}

/** This login, then the newest others; all of them once that is asked for. */
function List({ all }: { all: readonly Session[] }) {
  const ordered = [...all].sort((one, other) => Number(other.current) - Number(one.current));
  const shown = isWhole.value ? ordered : ordered.slice(0, shownAtFirst);
  return (
    <>
      <ul id="logins" class="plain-list" aria-labelledby="logins-heading">
        {shown.map((session) => (
          <SessionItem key={session.id} session={session} />
        ))}
      </ul>
      {shown.length < all.length ? (
        <button type="button" id="all-logins" class="plain" onClick={showAll}>
          Show all {all.length} logins
        </button>
      ) : null}
      <p class="hint">Text in quotes is what a program said of itself. Nobody has checked it.</p>
    </>
  );
}

/** Where the user is signed in, and ending that: here, elsewhere, everywhere. */
export function Sessions() {
  return (
    <Section of={sessionsData} title="Where you are signed in">
      <ErrorMessage text={error.value} />
      <StatusMessage>{status.value}</StatusMessage>
      <SectionContent of={sessionsData} entries={2}>
        <List all={sessions.value ?? []} />
      </SectionContent>
      <SignOutButtons />
    </Section>
  );
}
