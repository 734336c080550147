import { passkeysSupported } from '@latchkey/client/passkeys/ceremony';
import { securityPath, sessionsPath } from '../next.ts';
import { signedInByEmail } from '../passkey-offer.ts';
import { productName } from '../product.ts';
import { approvedIcon, cautionIcon, clockIcon, deniedIcon, waitingIcon, withdrawnIcon } from '../ui/icons.ts';
import { ErrorMessage } from '../ui/messages.tsx';
import { Outcome } from '../ui/outcome.tsx';
import type { ApprovalStatus } from './approval-status.ts';

const checkDevice = "Check your device: if it isn't signed in, start again there.";

const statusText: Record<ApprovalStatus, string> = {
  waiting: 'Waiting for your device to finish signing in…',
  unreachable: `Waiting for your device to finish signing in… ${productName} isn't responding right now. This page will keep trying.`,
  deviceSignedIn: 'Your device is signed in. You can close this window.',
  sessionEnded: 'Your device signed in, but has since been signed out.',
  withdrawn: "Your device isn't signed in.",
  expired: "Your device didn't finish signing in before the code expired. Start again on your device.",
  signedOut: `You've been signed out in this browser, so this page can't tell whether your device signed in. ${checkDevice}`,
  differentUser: `This browser is now signed in to a different account, so this page can't tell whether your device signed in. ${checkDevice}`,
  unknown: `This page can't tell whether your device signed in. ${checkDevice}`,
};

interface ApprovedProps {
  readonly status: ApprovalStatus;
  readonly error: string;
  readonly isBusy: boolean;
  readonly onWithdraw: () => void;
}

const canBeWithdrawn = (status: ApprovalStatus) => status === 'waiting' || status === 'unreachable';

interface Look {
  readonly tone: 'success' | 'caution' | 'waiting' | 'neutral';
  readonly icon: string;
}

const isUnclear: Look = { tone: 'caution', icon: cautionIcon };
const looks: Record<ApprovalStatus, Look> = {
  waiting: { tone: 'waiting', icon: waitingIcon },
  unreachable: { tone: 'waiting', icon: waitingIcon },
  deviceSignedIn: { tone: 'success', icon: approvedIcon },
  sessionEnded: isUnclear,
  withdrawn: { tone: 'neutral', icon: withdrawnIcon },
  expired: { tone: 'caution', icon: clockIcon },
  signedOut: isUnclear,
  differentUser: isUnclear,
  unknown: isUnclear,
};

/** The step after an approval: shows its status, and lets the user withdraw it while the device hasn't signed in. */
export function Approved({ status, error, isBusy, onWithdraw }: ApprovedProps) {
  const heading = status === 'withdrawn' ? 'Approval withdrawn' : 'Approved';
  return (
    <Outcome key={heading} {...looks[status]} heading={heading} takesFocus>
      <p id="status" role="status">
        {statusText[status]}
      </p>
      <ErrorMessage text={error} />
      {canBeWithdrawn(status) ? (
        <p class="quiet">
          Approved by mistake?{' '}
          <button type="button" id="withdraw" class="plain" disabled={isBusy} onClick={onWithdraw}>
            Withdraw approval
          </button>
        </p>
      ) : null}
      <p>
        <a href={sessionsPath}>View your sessions</a>
      </p>
      {signedInByEmail() && passkeysSupported ? (
        <p class="quiet">
          Skip the email next time: <a href={securityPath}>add a passkey</a>.
        </p>
      ) : null}
    </Outcome>
  );
}

export const Denied = () => (
  <Outcome key="denied" tone="danger" icon={deniedIcon} heading="Denied" takesFocus>
    <p id="status" role="status">
      You denied this request. The device isn't signed in.
    </p>
    <p class="quiet">
      You can close this window. If you didn't start this sign-in, there's nothing else to do.
    </p>
  </Outcome>
);
