import { type ReadonlySignal, signal } from '@preact/signals';

/** Shorter than anyone needs to read a question. */
const minReviewMilliseconds = 500;

/** Tells whether the user has had time to see a question. */
export interface ReviewTimer {
  readonly isReady: ReadonlySignal<boolean>;
  /** Starts the timer: the question is now in view. */
  start(): void;
}

/**
 * Guards the question shown now against clickjacking by double click: another site can open this page under the
 * pointer between the two clicks on its own window. The timer starts once the window has the focus.
 */
export function reviewTimer(): ReviewTimer {
  const isReady = signal(false);
  const start = () => {
    setTimeout(() => {
      isReady.value = true;
    }, minReviewMilliseconds);
  };
  if (document.hasFocus()) start();
  else window.addEventListener('focus', start, { once: true });
  return { isReady, start };
}
