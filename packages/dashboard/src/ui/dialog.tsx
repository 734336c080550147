import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

interface DialogProps {
  readonly id: string;
  readonly title: string;
  /** It was closed by the Escape key, or by the back gesture of a phone. */
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** The browser's own dialog over the page, which keeps the focus inside, and the page as it is. */
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
