import { useLayoutEffect, useRef } from 'preact/hooks';

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
