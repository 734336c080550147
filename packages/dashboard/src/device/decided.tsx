import { passkeysSupported } from '@latchkey/client/passkeys/ceremony';
import { cameByMail } from '../passkeys/after-mail.ts';
import { Heading } from '../ui/heading.tsx';
import { StatusMessage } from '../ui/messages.tsx';
import type { PickUp } from './pick-up.ts';

const lookThere = 'Look at your terminal: if it is not signed in, start the login again there.';

const sentences: Record<PickUp, string> = {
  waiting: 'Waiting for your terminal to pick this up…',
  noAnswer:
    'Waiting for your terminal to pick this up… Latchkey does not answer right now; this page keeps asking.',
  pickedUp: 'Done. You can close this window and go back to your terminal.',
  endedSince: 'Your terminal picked this up, and that login has been signed out since.',
  notPickedUp:
    'Your terminal has not picked this up in time, so nothing was signed in. Start the login again there.',
  signedOut: `You have been signed out in this browser, so this page no longer sees what becomes of it. ${lookThere}`,
  somebodyElse: `Somebody else is signed in in this browser now, so this page no longer sees what becomes of it. ${lookThere}`,
  unseen: `This page cannot see whether your terminal has picked this up. ${lookThere}`,
};

/** Ending one login, or all others, does not end one that has not begun. */
const canBeTakenBack = (pickUp: PickUp) => pickUp === 'waiting' || pickUp === 'noAnswer';

const isGoodNews = (pickUp: PickUp) => ['waiting', 'noAnswer', 'pickedUp'].includes(pickUp);

/** After an approval: what has become of it. */
export function Approved({ pickUp }: { pickUp: PickUp }) {
  return (
    <>
      <Heading key="approved" takesFocus>
        Approved
      </Heading>
      <StatusMessage isCaution={!isGoodNews(pickUp)}>{sentences[pickUp]}</StatusMessage>
      <p>
        <a href="/account">See all your logins</a>
      </p>
      {canBeTakenBack(pickUp) ? (
        <p class="quiet">Approved by mistake? “Sign out everywhere” there takes it back.</p>
      ) : null}
      {cameByMail() && passkeysSupported ? (
        <p class="quiet">
          Next time without a mail: <a href="/account">add a passkey</a>.
        </p>
      ) : null}
    </>
  );
}

export function Denied() {
  return (
    <>
      <Heading key="denied" takesFocus>
        Denied
      </Heading>
      <StatusMessage>Denied. Nothing was signed in.</StatusMessage>
      <p class="quiet">
        You can close this window. If you did not start this login, there is nothing else to do.
      </p>
    </>
  );
}
