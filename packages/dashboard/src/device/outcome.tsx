import { passkeysSupported } from '@latchkey/client/passkeys/ceremony';
import type { ComponentProps } from 'preact';
import { securityPath, sessionsPath } from '../next.ts';
import { emailSignInNote } from '../tab-note.ts';
import { fill, fillParts, sentences, texts } from '../texts.ts';
import type { Busy } from '../ui/busy.ts';
import { Button, ErrorMessage, Warning } from '../ui/elements.tsx';
import { approvedIcon, cautionIcon, clockIcon, deniedIcon, waitingIcon, withdrawnIcon } from '../ui/icons.ts';
import { Outcome } from '../ui/page.tsx';
import type { ApprovalStatus } from './approval-status.ts';

interface ApprovedProps {
  readonly status: ApprovalStatus;
  /** What the person has to type on the device before it is signed in. */
  readonly confirmationCode: string | undefined;
  readonly busy: Busy;
  readonly onWithdraw: () => unknown;
}

const canBeWithdrawn = (status: ApprovalStatus) => status === 'waiting' || status === 'unreachable';

const isUnclear = { tone: 'caution', icon: cautionIcon } as const;
const notSignedIn = { heading: texts.device.notSignedIn };
type Look = Pick<ComponentProps<typeof Outcome>, 'tone' | 'icon'> & { readonly heading?: string };
const looks: Record<ApprovalStatus, Look> = {
  waiting: { tone: 'waiting', icon: waitingIcon },
  unreachable: { tone: 'waiting', icon: waitingIcon },
  deviceSignedIn: { tone: 'success', icon: approvedIcon },
  sessionEnded: { ...isUnclear, ...notSignedIn },
  withdrawn: { tone: 'neutral', icon: withdrawnIcon, heading: texts.device.withdrawn },
  cancelled: { tone: 'neutral', icon: deniedIcon, ...notSignedIn },
  expired: { tone: 'caution', icon: clockIcon, ...notSignedIn },
  signedOut: isUnclear,
  differentUser: isUnclear,
  unknown: isUnclear,
};

function textOf(status: ApprovalStatus): string {
  const { unknown, waiting, ...others } = texts.device.status;
  if (status === 'unreachable') return sentences(waiting, fill(texts.errors.unavailable));
  if (status === 'signedOut') return sentences(texts.errors.signedOut, unknown);
  return { ...others, unknown, waiting, differentUser: unknown }[status];
}

/** The step after an approval: shows its status, and lets the user withdraw it while the device hasn't signed in. */
export function Approved({ status, confirmationCode, busy, onWithdraw }: ApprovedProps) {
  return (
    <Outcome heading={texts.device.approved} {...looks[status]} takesFocus>
      {confirmationCode !== undefined && canBeWithdrawn(status) ? (
        <>
          <div class="code-box">
            <p>{texts.device.confirm}</p>
            <output id="confirmation-code" class="big-code" translate={false}>
              {confirmationCode}
            </output>
          </div>
          <Warning>{texts.device.confirmNever}</Warning>
        </>
      ) : null}
      <p id="status" role="status">
        {textOf(status)}
      </p>
      <ErrorMessage text={busy.error.value} />
      {canBeWithdrawn(status) ? (
        <p class="quiet">
          {fillParts(texts.common.sentences, {
            first: texts.device.byMistake,
            second: (
              <Button id="withdraw" class="plain" busy={busy} onClick={onWithdraw}>
                {texts.device.withdraw}
              </Button>
            ),
          })}
        </p>
      ) : null}
      <p>
        <a href={sessionsPath}>{texts.device.sessions}</a>
      </p>
      {passkeysSupported && emailSignInNote.read() !== null ? (
        <p class="quiet">
          {fillParts(texts.device.skipEmail, {
            addPasskey: <a href={securityPath}>{texts.device.addPasskey}</a>,
          })}
        </p>
      ) : null}
    </Outcome>
  );
}
