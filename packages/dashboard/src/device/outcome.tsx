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
const looks: Record<ApprovalStatus, Pick<ComponentProps<typeof Outcome>, 'tone' | 'icon'>> = {
  waiting: { tone: 'waiting', icon: waitingIcon },
  unreachable: { tone: 'waiting', icon: waitingIcon },
  deviceSignedIn: { tone: 'success', icon: approvedIcon },
  sessionEnded: isUnclear,
  withdrawn: { tone: 'neutral', icon: withdrawnIcon },
  cancelled: { tone: 'neutral', icon: deniedIcon },
  expired: { tone: 'caution', icon: clockIcon },
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
  const heading = status === 'withdrawn' ? texts.device.withdrawn : texts.device.approved;
  return (
    <Outcome {...looks[status]} heading={heading} takesFocus>
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
