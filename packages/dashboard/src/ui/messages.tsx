import type { ComponentChildren } from 'preact';
import { Icon } from './icon.tsx';
import { approvedIcon, cautionIcon, errorIcon } from './icons.ts';

const isEmpty = (children: ComponentChildren) =>
  children === undefined || children === null || children === '' || children === false;

/** An error, announced immediately. Stays mounted while empty, as live regions must. */
export const ErrorMessage = ({ text, id = 'error' }: { text: string; id?: string }) => (
  <p id={id} class="message error" role="alert">
    {text === '' ? null : (
      <>
        <Icon path={errorIcon} />
        <span>{text}</span>
      </>
    )}
  </p>
);

/** A status, announced when the screen reader pauses. */
export const StatusMessage = ({ children, id = 'status' }: { children?: ComponentChildren; id?: string }) => (
  <p id={id} class="message status" role="status">
    {isEmpty(children) ? null : (
      <>
        <Icon path={approvedIcon} />
        <span>{children}</span>
      </>
    )}
  </p>
);

/** A warning that is part of the page from the start. */
export const Warning = ({ children, id }: { children: ComponentChildren; id?: string }) => (
  <div class="warning" {...(id === undefined ? {} : { id })}>
    <Icon path={cautionIcon} />
    <span>{children}</span>
  </div>
);
