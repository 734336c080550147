import type { ButtonHTMLAttributes, ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Busy } from './busy.ts';
import { approvedIcon, cautionIcon, errorIcon } from './icons.ts';

/** A ref to an element that takes the focus when it appears, or whenever `takesFocus` changes to something else than empty. */
export function useFocus<E extends HTMLElement>(takesFocus: string | boolean = true) {
  const element = useRef<E>(null);
  useLayoutEffect(() => {
    if (takesFocus) element.current?.focus();
  }, [takesFocus]);
  return element;
}

/** Returns the focus to the button with this id, which is there again in the next frame. */
export function focusAgain(id: string): void {
  requestAnimationFrame(() => document.getElementById(id)?.focus());
}

/** An icon from icons.ts. Decorative: the words beside it say the same. */
export const Icon = ({ path }: { path: string }) => (
  <svg class="icon" width="20" height="20" viewBox="0 0 24 24" aria-hidden="true">
    <path d={path} />
  </svg>
);

export const IconBox = ({ path, isCaution = false }: { path: string; isCaution?: boolean }) => (
  <span class={isCaution ? 'icon-box caution' : 'icon-box'}>
    <Icon path={path} />
  </span>
);

interface HeadingProps {
  readonly children: ComponentChildren;
  readonly takesFocus?: boolean;
}

/** A step's heading. With `takesFocus`, a screen reader announces it. Give each step its own `key`. */
export const Heading = ({ children, takesFocus = false }: HeadingProps) => (
  <h1 ref={useFocus<HTMLHeadingElement>(takesFocus)} tabIndex={-1}>
    {children}
  </h1>
);

export interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'onClick' | 'type'> {
  /** What it waits for. */
  readonly busy?: Pick<Busy, 'now'>;
  /** Without it, the button submits its form. */
  readonly onClick?: ((event: MouseEvent) => unknown) | undefined;
}

/** A button, disabled while an action is in progress. */
export const Button = ({ busy, ...props }: ButtonProps) => (
  <button type={props.onClick ? 'button' : 'submit'} disabled={busy?.now.value} {...props} />
);

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
