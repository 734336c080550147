import { type ReadonlySignal, signal } from '@preact/signals';

/** What came up less than this ago nobody has read. */
const minMilliseconds = 500;

/** Whether somebody has had the time to see a question. */
export interface ReviewTimer {
  readonly now: ReadonlySignal<boolean>;
  /** From now on it is before somebody's eyes. */
  begin(): void;
}

/**
 * For a question that comes up now. A click that hits it at once was meant for something else: another site can have
 * people click twice on a window of its own that is gone, and this page in its place, after the first click. What
 * comes up in a window without the focus is looked at once that window has it.
 */
export function reviewTimer(): ReviewTimer {
  const now = signal(false);
  const begin = () => {
    setTimeout(() => {
      now.value = true;
    }, minMilliseconds);
  };
  if (document.hasFocus()) begin();
  else window.addEventListener('focus', begin, { once: true });
  return { now, begin };
}
