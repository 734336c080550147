import { passkeysSupported } from '@latchkey/client/passkeys/ceremony';
import { signedInByEmail } from '../passkey-offer.ts';
import { Heading } from '../ui/heading.tsx';
import { ErrorMessage, StatusMessage } from '../ui/messages.tsx';
import type { ApprovalStatus } from './approval-status.ts';

const lookThere = 'Look at your terminal: if it is not signed in, start the login again there.';

const sentences: Record<ApprovalStatus, string> = {
  waiting: 'Waiting for your terminal to pick this up…',
  noAnswer:
    'Waiting for your terminal to pick this up… Latchkey does not answer right now; this page keeps asking.',
  pickedUp: 'Done. You can close this window and go back to your terminal.',
  endedSince: 'Your terminal picked this up, and that login has been signed out since.',
  takenBack: 'Your terminal is not signed in.',
  notPickedUp:
    'Your terminal has not picked this up in time, so nothing was signed in. Start the login again there.',
  signedOut: `You have been signed out in this browser, so this page no longer sees what becomes of it. ${lookThere}`,
  somebodyElse: `Somebody else is signed in in this browser now, so this page no longer sees what becomes of it. ${lookThere}`,
  unseen: `This page cannot see whether your terminal has picked this up. ${lookThere}`,
};

interface ApprovedProps {
  readonly status: ApprovalStatus;
  readonly error: string;
  readonly isBusy: boolean;
  readonly onTakeBack: () => void;
}

const canBeTakenBack = (status: ApprovalStatus) => status === 'waiting' || status === 'noAnswer';

const isGoodNews = (status: ApprovalStatus) =>
  ['waiting', 'noAnswer', 'pickedUp', 'takenBack'].includes(status);

/** After an approval: what has become of it. */
export function Approved({ status, error, isBusy, onTakeBack }: ApprovedProps) {
  return (
    <>
      <Heading key={status === 'takenBack' ? 'takenBack' : 'approved'} takesFocus>
        {status === 'takenBack' ? 'Taken back' : 'Approved'}
      </Heading>
      <StatusMessage isCaution={!isGoodNews(status)}>{sentences[status]}</StatusMessage>
      <ErrorMessage text={error} />
      {canBeTakenBack(status) ? (
        <p>
          Approved by mistake?{' '}
          <button type="button" id="take-back" class="plain" disabled={isBusy} onClick={onTakeBack}>
            Take it back
          </button>
        </p>
      ) : null}
      <p>
        <a href="/account">See all your logins</a>
      </p>
      {signedInByEmail() && passkeysSupported ? (
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
