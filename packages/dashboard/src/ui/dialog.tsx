import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

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
  useEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  return (
    <dialog ref={dialog} id={id} aria-labelledby={`${id}-title`} onClose={onClose}>
      <h2 id={`${id}-title`} tabIndex={-1}>
        {title}
      </h2>
      {children}
    </dialog>
  );
}
