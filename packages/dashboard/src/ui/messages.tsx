import type { ComponentChildren } from 'preact';
import { useFocus } from './focus.ts';
import { Icon } from './icon.tsx';
import { approvedIcon, cautionIcon, errorIcon } from './icons.ts';

interface MessageProps {
  /** Empty for none. The element stays, as live regions must. */
  readonly text: string;
  readonly id?: string;
}

const message =
  (kind: 'error' | 'status', role: 'alert' | 'status', icon: string) =>
  ({ text, id = kind }: MessageProps) => (
    <p id={id} class={`message ${kind}`} role={role}>
      {text === '' ? null : (
        <>
          <Icon path={icon} />
          <span>{text}</span>
        </>
      )}
    </p>
  );

/** An error, announced immediately. */
export const ErrorMessage = message('error', 'alert', errorIcon);

/** A status, announced when the screen reader pauses. */
export const StatusMessage = message('status', 'status', approvedIcon);

interface WarningProps {
  readonly id?: string;
  /** For a question that takes the place of the button that opened it. */
  readonly takesFocus?: boolean;
  readonly children: ComponentChildren;
}

/** A warning that is part of the page from the start, or a question before something that cannot be undone. */
export const Warning = ({ id, takesFocus = false, children }: WarningProps) => (
  <div
    class="warning"
    id={id}
    ref={useFocus<HTMLDivElement>(takesFocus)}
    tabIndex={takesFocus ? -1 : undefined}
  >
    <Icon path={cautionIcon} />
    <span>{children}</span>
  </div>
);
