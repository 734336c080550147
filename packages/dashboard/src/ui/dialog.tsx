import type { Signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { texts } from '../texts.ts';
import { Button } from './elements.tsx';

interface DialogProps {
  readonly id: string;
  readonly title: string;
  /** Called when the Escape key or a phone's back gesture closes it. */
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** A native modal dialog: it traps focus and leaves the page below unchanged. */
export function Dialog({ id, title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const close = useRef(onClose);
  close.current = onClose;
  useLayoutEffect(() => {
    const shown = dialog.current;
    if (!shown) return;
    const closed = () => close.current();
    shown.showModal();
    shown.addEventListener('close', closed);
    return () => {
      // The event comes later. By then the same dialog may have been opened again.
      shown.removeEventListener('close', closed);
      shown.close();
    };
  }, []);
  return (
    <dialog ref={dialog} id={id} aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`} tabIndex={-1}>
        {title}
      </h2>
      {children}
    </dialog>
  );
}

interface StayDialogProps extends Omit<DialogProps, 'onClose'> {
  /** Undefined from when the person decides to stay. */
  readonly reason: Signal<unknown>;
  readonly action: ComponentChildren;
}

/** Says that nothing more can be done on this page. Whatever was typed stays on it. */
export function StayDialog({ reason, action, children, ...props }: StayDialogProps) {
  const stay = () => {
    reason.value = undefined;
  };
  return (
    <Dialog {...props} onClose={stay}>
      <p>{children}</p>
      <div class="row">
        {action}
        <Button class="plain" onClick={stay}>
          {texts.common.stay}
        </Button>
      </div>
    </Dialog>
  );
}
