import type { Session } from '@latchkey/contract/sessions';
import { computed, effect, signal, untracked } from '@preact/signals';
import { getSignedInUser } from '../api.ts';
import { ConfirmDialog } from '../confirm/confirm.tsx';
import { explain } from '../error-messages.ts';
import { home, loginPath } from '../next.ts';
import { pageUser } from '../page-user.ts';
import { busyState } from '../ui/busy.ts';
import { Heading } from '../ui/heading.tsx';
import { Delayed, LoadingMessage, Placeholder } from '../ui/loading.tsx';
import { ErrorMessage } from '../ui/messages.tsx';
import { mount } from '../ui/mount.tsx';
import { detectSignOut, SignedOutDialog } from './actions.tsx';
import { Activity, activityData } from './activity.tsx';
import { DeleteAccount } from './delete-account.tsx';
import { Organizations, organizationsData } from './organizations.tsx';
import { afterRecentSignIn, Passkeys, passkeysData } from './passkeys.tsx';
import { loadProfile, ProfileSection } from './profile.tsx';
import { Sessions, sessions, sessionsData } from './sessions.tsx';

const view = signal<'loading' | 'unavailable' | 'account'>('loading');
const error = signal('');
const busy = busyState();
/** The button for another try is gone, and whoever pressed it goes on at the heading. */
let isRetried = false;

const recentMilliseconds = 900_000;

/** Whether this login may, as far as this page can tell, make and remove passkeys without being confirmed. */
const isRecent = (list: readonly Session[]) =>
  list.some(
    ({ current, kind, created_at }) =>
      current && kind === 'browser' && Date.now() - Date.parse(created_at) < recentMilliseconds,
  );

const parts = [passkeysData, sessionsData, organizationsData, activityData];

/** Whose account it is comes first, alone: nothing else is asked for where nobody is signed in. */
const load = () =>
  busy.run(async () => {
    error.value = '';
    const problem = await loadProfile();
    if (problem === undefined) {
      isRetried = view.value === 'unavailable';
      view.value = 'account';
      for (const part of parts) void part.load();
      return undefined;
    }
    if (problem.code === 'invalid_token') {
      location.replace(loginPath(home));
      return 'leaving';
    }
    error.value = explain(problem, {
      unreachable: 'Latchkey could not be reached. Check your connection and try again.',
    });
    view.value = 'unavailable';
    return undefined;
  });

let isWelcomed = false;
effect(() => {
  if (isWelcomed || passkeysData.at.value !== 'shown' || sessions.value === undefined) return;
  isWelcomed = true;
  if (isRecent(sessions.value)) untracked(() => void afterRecentSignIn());
});

// Another tab may have signed out in the meantime, or signed in as somebody else.
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState !== 'visible' || view.value !== 'account' || busy.now.value) return;
  void getSignedInUser().then((result) => {
    const me = detectSignOut(result);
    if (me.ok && me.value.id !== pageUser()?.id) location.reload();
  });
});

const isWaiting = computed(
  () =>
    view.value === 'loading' || (view.value === 'account' && parts.some(({ at }) => at.value === 'loading')),
);

function AccountView() {
  if (view.value === 'loading') {
    return (
      <Delayed>
        <Heading key="account">Your account</Heading>
        <Placeholder entries={3} />
      </Delayed>
    );
  }
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
      <Heading key="account" takesFocus={isRetried}>
        Your account
      </Heading>
      <ProfileSection />
      <Passkeys />
      <Sessions />
      <Organizations />
      <Activity sessions={sessions.value} />
      <DeleteAccount />
      <ConfirmDialog />
      <SignedOutDialog />
    </>
  );
}

const AccountPage = () => (
  <>
    <LoadingMessage isWaiting={isWaiting.value} />
    <AccountView />
  </>
);

mount(AccountPage);
void load();
