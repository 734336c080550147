import type { Profile } from '@latchkey/contract/account';
import { spelledOut } from '@latchkey/contract/foreign-text';
import type { Session } from '@latchkey/contract/sessions';
import { signal } from '@preact/signals';
import { getProfile, listSessions, logout, type Problem, revokeSession } from '../api.ts';
import { home, loginPath } from '../next.ts';
import { busyState } from '../ui/busy.ts';
import { Claimed } from '../ui/claimed.tsx';
import { Heading } from '../ui/heading.tsx';
import { ErrorMessage, StatusMessage } from '../ui/messages.tsx';
import { Moment } from '../ui/moment.tsx';
import { mount } from '../ui/mount.tsx';
import { explain } from '../words.ts';
import { ChangeAddress } from './change-address.tsx';
import { DeleteAccount } from './delete-account.tsx';
import { afterRecentLogin, loadPasskeys, Passkeys } from './passkeys.tsx';

type View =
  | { at: 'loading' }
  | { at: 'unavailable' }
  | { at: 'account'; profile: Profile; sessions: Session[] };

const view = signal<View>({ at: 'loading' });
const error = signal('');
const status = signal('');
const busy = busyState();

const kinds = { browser: 'Browser', device: 'Terminal' } satisfies Record<Session['kind'], string>;
const methods = {
  device_code: 'by approval in a browser',
  magic_link: 'by a link in a mail',
  email_code: 'by a code in a mail',
  passkey: 'with a passkey',
} satisfies Record<Session['method'], string>;

/** Shows the problem, or goes to the login page when the login is over. */
function report(problem: Problem): 'leaving' | undefined {
  if (problem.code === 'invalid_token') {
    location.replace(loginPath(home));
    return 'leaving';
  }
  error.value = explain(problem);
  return undefined;
}

const recentMilliseconds = 900_000;

/** Whether this login may, as far as this page can tell, make and remove passkeys without being confirmed. */
const isRecent = (sessions: readonly Session[]) =>
  sessions.some(
    ({ current, kind, created_at }) =>
      current && kind === 'browser' && Date.now() - Date.parse(created_at) < recentMilliseconds,
  );

const load = () =>
  busy.run(async () => {
    error.value = '';
    const [me, list, passkeyProblem] = await Promise.all([getProfile(), listSessions(), loadPasskeys()]);
    if (me.ok && list.ok && passkeyProblem === undefined) {
      view.value = { at: 'account', profile: me.value, sessions: list.value };
      if (isRecent(list.value)) void afterRecentLogin();
      return undefined;
    }
    const problem = me.ok ? (list.ok ? passkeyProblem : list.problem) : me.problem;
    if (problem && report(problem) === 'leaving') return 'leaving';
    view.value = { at: 'unavailable' };
    return undefined;
  });

const signOut = (scope: 'session' | 'everywhere') =>
  busy.run(async () => {
    error.value = '';
    const result = await logout(scope);
    if (!result.ok) return report(result.problem);
    location.replace('/login');
    return 'leaving';
  });

const end = (ended: Session) =>
  busy.run(async () => {
    error.value = '';
    status.value = '';
    const result = await revokeSession(ended.id);
    // A login that is gone already is as signed out as it can be.
    if (!result.ok && result.problem.code !== 'not_found') return report(result.problem);
    if (view.value.at === 'account') {
      view.value = { ...view.value, sessions: view.value.sessions.filter(({ id }) => id !== ended.id) };
    }
    status.value = 'That login has been signed out.';
    document.getElementById('logins-heading')?.focus();
    return undefined;
  });

function Login({ session }: { session: Session }) {
  const title = `login-${session.id}`;
  return (
    <li class="login" data-session={session.id} aria-labelledby={title}>
      <div>
        <p id={title}>
          <strong>{kinds[session.kind]}</strong>{' '}
          {session.device_name === null ? null : <Claimed text={session.device_name} />}{' '}
          {session.current ? <span class="badge">this one</span> : null}
        </p>
        <p class="quiet">
          {session.client_name === null ? null : (
            <>
              <Claimed text={session.client_name} />{' '}
            </>
          )}
          Signed in <Moment at={session.created_at} /> {methods[session.method]}, from{' '}
          {session.ip_address ?? 'an unknown address'}. Last used <Moment at={session.last_used_at} />.
        </p>
        {session.user_agent === null ? null : (
          <p class="quiet">
            <Claimed text={session.user_agent} />
          </p>
        )}
      </div>
      {session.current ? null : (
        <button
          type="button"
          disabled={busy.now.value}
          aria-describedby={title}
          onClick={() => void end(session)}
        >
          Sign out
        </button>
      )}
    </li>
  );
}

function AccountPage() {
  const now = view.value;
  if (now.at === 'loading') return <StatusMessage>One moment…</StatusMessage>;
  if (now.at === 'unavailable') {
    return (
      <>
        <Heading key="unavailable">Your account</Heading>
        <ErrorMessage text={error.value} />
        <button type="button" class="primary" disabled={busy.now.value} onClick={() => void load()}>
          Try again
        </button>
      </>
    );
  }
  const { profile, sessions } = now;
  return (
    <>
      <Heading key="account">Your account</Heading>
      <dl>
        <dt>Name</dt>
        <dd id="profile-name">
          <bdi>{spelledOut(profile.name)}</bdi>
        </dd>
        <dt>Mail address</dt>
        <dd id="profile-email">
          <bdi>{profile.email}</bdi>
        </dd>
      </dl>
      <ChangeAddress />
      <Passkeys />
      <h2 id="logins-heading" tabIndex={-1}>
        Where you are signed in
      </h2>
      <ErrorMessage text={error.value} />
      <StatusMessage>{status.value}</StatusMessage>
      <ul id="logins" aria-labelledby="logins-heading">
        {sessions.map((session) => (
          <Login key={session.id} session={session} />
        ))}
      </ul>
      <p class="hint">Text in quotes is what a program said of itself. Nobody has checked it.</p>
      <div class="row">
        <button
          type="button"
          id="sign-out"
          class="primary"
          disabled={busy.now.value}
          onClick={() => void signOut('session')}
        >
          Sign out here
        </button>
        <button
          type="button"
          id="sign-out-everywhere"
          disabled={busy.now.value}
          onClick={() => void signOut('everywhere')}
        >
          Sign out everywhere
        </button>
      </div>
      <p class="quiet">Signing out everywhere ends every login above, terminals too.</p>
      <DeleteAccount />
    </>
  );
}

mount(AccountPage);
void load();
