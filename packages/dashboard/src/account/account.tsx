import type { Session } from '@latchkey/contract/sessions';
import { effect, signal } from '@preact/signals';
import { whoIsSignedIn } from '../api.ts';
import { ConfirmDialog, renewals } from '../confirm/confirm.tsx';
import { home, loginPath } from '../next.ts';
import { shownUserId } from '../shown-user.ts';
import { busyState } from '../ui/busy.ts';
import { Heading } from '../ui/heading.tsx';
import { ErrorMessage, StatusMessage } from '../ui/messages.tsx';
import { mount } from '../ui/mount.tsx';
import { explain } from '../words.ts';
import { noticing, SignedOut } from './as-user.tsx';
import { DeleteAccount } from './delete-account.tsx';
import { loadEvents, SecurityLog } from './events.tsx';
import { Logins, loadLogins, sessions } from './logins.tsx';
import { loadOrganizations, Organizations } from './organizations.tsx';
import { afterRecentLogin, loadPasskeys, Passkeys } from './passkeys.tsx';
import { loadProfile, ProfileSection } from './profile.tsx';

const view = signal<'loading' | 'unavailable' | 'account'>('loading');
const error = signal('');
const busy = busyState();

const recentMilliseconds = 900_000;

/** Whether this login may, as far as this page can tell, make and remove passkeys without being confirmed. */
const isRecent = (list: readonly Session[]) =>
  list.some(
    ({ current, kind, created_at }) =>
      current && kind === 'browser' && Date.now() - Date.parse(created_at) < recentMilliseconds,
  );

const load = () =>
  busy.run(async () => {
    error.value = '';
    const problems = await Promise.all([
      loadProfile(),
      loadPasskeys(),
      loadLogins(),
      loadOrganizations(),
      loadEvents(),
    ]);
    const problem = problems.find((one) => one !== undefined);
    if (problem === undefined) {
      view.value = 'account';
      if (isRecent(sessions.value)) void afterRecentLogin();
      return undefined;
    }
    if (problem.code === 'invalid_token') {
      location.replace(loginPath(home));
      return 'leaving';
    }
    error.value = explain(problem);
    view.value = 'unavailable';
    return undefined;
  });

// A fresh login takes the place of the one before.
effect(() => {
  if (renewals.value > 0) void loadLogins();
});

// Another tab may have signed out in the meantime, or signed in as somebody else.
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState !== 'visible' || view.value !== 'account' || busy.now.value) return;
  void whoIsSignedIn().then((result) => {
    const me = noticing(result);
    if (me.ok && me.value.id !== shownUserId()) location.reload();
  });
});

function AccountPage() {
  if (view.value === 'loading') return <StatusMessage>One moment…</StatusMessage>;
  if (view.value === 'unavailable') {
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
  return (
    <>
      <Heading key="account">Your account</Heading>
      <ProfileSection />
      <Passkeys />
      <Logins />
      <Organizations />
      <SecurityLog sessions={sessions.value} />
      <DeleteAccount />
      <ConfirmDialog />
      <SignedOut />
    </>
  );
}

mount(AccountPage);
void load();
