import { fillParts, texts } from '../texts.ts';
import { Heading } from '../ui/heading.tsx';
import { Icon } from '../ui/icon.tsx';
import { signOutIcon } from '../ui/icons.ts';
import { ErrorMessage } from '../ui/messages.tsx';
import { shownProfile } from './profile.tsx';
import { signingOut, signOut } from './sign-out.ts';

/** The first letter as a reader sees it, with the marks that belong to it. */
const initialOf = (name: string): string => [...new Intl.Segmenter().segment(name)][0]?.segment ?? '';

/** Who is signed in, and the way out. The picture of a profile is not shown: its host would learn who looks, and when. */
export function AccountHead({ takesFocus }: { takesFocus: boolean }) {
  const busy = signingOut.session;
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
        <button type="button" id="sign-out" disabled={busy.now.value} onClick={() => void signOut('session')}>
          <Icon path={signOutIcon} />
          {busy.label(texts.common.signOut)}
        </button>
      </div>
      <ErrorMessage id="sign-out-error" text={busy.error.value} />
    </>
  );
}
