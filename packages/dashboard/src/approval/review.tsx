import type { ComponentChildren } from 'preact';
import { ConfirmDialog } from '../confirm/confirm.tsx';
import { switchAccountPath } from '../next.ts';
import { pageUser } from '../page-user.ts';
import { fillParts, texts } from '../texts.ts';
import { Heading } from '../ui/heading.tsx';
import { ErrorMessage } from '../ui/messages.tsx';
import { type Access, RequestedAccess } from './requested-access.tsx';
import type { ReviewTimer } from './review-timer.ts';

/** Who is signed in, with a way to sign in as somebody else. @param here the path to come back to */
export const SignedInAs = ({ here }: { here: string }) => (
  <p class="quiet signed-in-as">
    {fillParts(texts.common.signedInAs, { email: <bdi>{pageUser()?.email}</bdi> })} ·{' '}
    <a href={switchAccountPath(here)}>{texts.common.otherAccount}</a>
  </p>
);

interface ReviewProps {
  readonly question: ComponentChildren;
  /** Who asks, between the question and what is approved. */
  readonly children: ComponentChildren;
  readonly access: Access;
  readonly accessHeading: string;
  readonly error: string;
  readonly isBusy: boolean;
  readonly timer: ReviewTimer;
  /** Without it, the request can only be denied. */
  readonly onApprove: (() => void) | undefined;
  readonly onDeny: () => void;
  readonly here: string;
}

/** The question whether a device or a program may use the account, with all that the answer depends on. */
export const Review = ({
  question,
  children,
  access,
  accessHeading,
  error,
  here,
  ...choice
}: ReviewProps) => (
  <>
    <Heading key="review" takesFocus>
      {question}
    </Heading>
    {children}
    <RequestedAccess access={access} heading={accessHeading} />
    <ErrorMessage text={error} />
    <Choice {...choice} />
    <SignedInAs here={here} />
    <ConfirmDialog />
  </>
);

type ChoiceProps = Pick<ReviewProps, 'isBusy' | 'timer' | 'onApprove' | 'onDeny'>;

function Choice({ isBusy, timer, onApprove, onDeny }: ChoiceProps) {
  /** Keyboard activation (no clicks) is deliberate: the focus has to be moved to the button first. */
  const approve = ({ detail: clicks }: MouseEvent) => {
    if (timer.isReady.value || clicks === 0) onApprove?.();
    else timer.start();
  };
  return (
    <div class="choice always-seen">
      {onApprove === undefined ? null : (
        <button
          type="button"
          id="approve"
          class="primary"
          disabled={isBusy}
          aria-disabled={!timer.isReady.value}
          onClick={approve}
        >
          {texts.device.approve}
        </button>
      )}
      <button type="button" id="deny" disabled={isBusy} onClick={onDeny}>
        {texts.device.deny}
      </button>
    </div>
  );
}
