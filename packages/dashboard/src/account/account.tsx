import type { Session } from '@latchkey/contract/sessions';
import { computed, effect, signal, untracked } from '@preact/signals';
import { getSignedInUser } from '../api.ts';
import { ConfirmDialog } from '../confirm/confirm.tsx';
import { explain } from '../error-messages.ts';
import { followLanguage } from '../follow-language.ts';
import { home, loginPath } from '../next.ts';
import { pageUser } from '../page-user.ts';
import { fillParts, texts } from '../texts.ts';
import { busyState, leaveTo } from '../ui/busy.ts';
import { Button, ErrorMessage, Heading, Icon } from '../ui/elements.tsx';
import { signOutIcon } from '../ui/icons.ts';
import { LoadingPage, mount, UnavailablePage } from '../ui/page.tsx';
import { detectSignOut, SignedOutDialog, signingOut, signOut } from './actions.tsx';
import { Activity, activityData } from './activity.tsx';
import { DangerZone } from './danger-zone.tsx';
import { Keys, keysData } from './keys.tsx';
import { goToSection, Navigation } from './navigation.tsx';
import { isRequested as isKeyRequested } from './new-key.tsx';
import { Organizations, organizationsData } from './organizations.tsx';
import { afterRecentSignIn, Passkeys, passkeysData } from './passkeys.tsx';
import { confirmSaved, loadProfile, ProfileSection, shownProfile } from './profile.tsx';
import { Card } from './section.tsx';
import { Sessions, sessions, sessionsData } from './sessions.tsx';

const view = signal<'loading' | 'unavailable' | 'account'>('loading');
const busy = busyState();
const { error } = busy;
/** The "Try again" button is gone, so the focus moves to the heading. */
let isRetried = false;

const recentMs = 900_000;

/** Whether the current session looks recent enough to manage passkeys without confirming the user's identity. */
const isRecent = (list: readonly Session[]) =>
  list.some(
    ({ current, kind, created_at }) =>
      current && kind === 'browser' && Date.now() - Date.parse(created_at) < recentMs,
  );

const sections = [passkeysData, sessionsData, keysData, organizationsData, activityData];

/** Loads the profile first and alone, so that a signed-out browser sends a single request. */
const load = () =>
  busy.run(async () => {
    const problem = await loadProfile();
    if (problem === undefined) {
      if (followLanguage(shownProfile()?.locale ?? null)) return undefined;
      isRetried = view.value === 'unavailable';
      view.value = 'account';
      confirmSaved();
      for (const section of sections) void section.load();
      return undefined;
    }
    if (problem.code === 'invalid_token') {
      // A link that requests a key does so again after the sign-in.
      const address = isKeyRequested ? location.pathname + location.search : home;
      return leaveTo(loginPath(address + location.hash));
    }
    view.value = 'unavailable';
    return explain(problem);
  });

let hasRunAfterSignIn = false;
effect(() => {
  if (hasRunAfterSignIn || passkeysData.state.value !== 'loaded' || sessions.value === undefined) return;
  hasRunAfterSignIn = true;
  if (isRecent(sessions.value)) untracked(() => void afterRecentSignIn());
});

// Another tab may have signed out, or signed in as another user.
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState !== 'visible' || view.value !== 'account' || busy.now.value) return;
  void detectSignOut(getSignedInUser()).then((me) => {
    if (me.ok && me.value.id !== pageUser()?.id) location.reload();
  });
});

const isLoading = computed(
  () =>
    view.value === 'loading' ||
    (view.value === 'account' && sections.some(({ state }) => state.value === 'loading')),
);

// The section of the address can be found once all above it have their height.
effect(() => {
  if (view.value === 'account' && !isLoading.value) requestAnimationFrame(goToSection);
});

/** The first letter as a reader sees it, with the marks that belong to it. */
const initialOf = (name: string): string => [...new Intl.Segmenter().segment(name)][0]?.segment ?? '';

/** Who is signed in, and the way out. The picture of a profile is not shown: its host would learn who looks, and when. */
function AccountHead({ takesFocus }: { takesFocus: boolean }) {
  const leaving = signingOut.session;
  const profile = shownProfile();
  if (profile === undefined) return null;
  return (
    <>
      <div class="account-head">
        <span class="initial" aria-hidden="true">
          {initialOf(profile.name)}
        </span>
        <div>
          <Heading key="account" takesFocus={takesFocus}>
            {texts.account.heading}
          </Heading>
          <p id="signed-in-as" class="quiet">
            {fillParts(texts.common.signedInAs, { email: <bdi>{profile.email}</bdi> })}
          </p>
        </div>
        <Button id="sign-out" busy={leaving} onClick={() => signOut('session')}>
          <Icon path={signOutIcon} />
          {leaving.label(texts.common.signOut)}
        </Button>
      </div>
      <ErrorMessage id="sign-out-error" text={leaving.error.value} />
    </>
  );
}

const Security = () => (
  <Card id="security" title={texts.account.sections.security}>
    <p class="quiet">{texts.account.alwaysByEmail}</p>
    <Passkeys />
  </Card>
);

function AccountView() {
  const { heading } = texts.account;
  if (view.value === 'loading') return <LoadingPage heading={heading} entries={3} isWide />;
  if (view.value === 'unavailable')
    return <UnavailablePage heading={heading} error={error.value} onRetry={load} isWide />;
  return (
    <>
      <AccountHead takesFocus={isRetried} />
      <div class="account">
        <Navigation />
        <div class="cards">
          <ProfileSection />
          <Security />
          <Sessions />
          <Keys />
          <Organizations />
          <Activity />
          <DangerZone />
        </div>
      </div>
      <ConfirmDialog />
      <SignedOutDialog />
    </>
  );
}

mount(AccountView, () => isLoading.value);
void load();
