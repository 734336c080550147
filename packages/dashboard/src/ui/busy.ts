import { signal } from '@preact/signals';
import { texts } from '../texts.ts';

let isLeaving = false;

/** Leaves the page. Until the next one loads, everything stays disabled. */
export function leave(navigate: () => void): undefined {
  isLeaving = true;
  navigate();
}

/** Continues to another page of this service. */
export const leaveTo = (path: string): undefined => leave(() => location.replace(path));

// A page restored from the back-forward cache would still be disabled.
window.addEventListener('pageshow', (event) => {
  if (event.persisted) location.reload();
});

export type Busy<Action extends string = never> = ReturnType<typeof busyState<Action>>;

/** Runs one action at a time: `run` ignores clicks while an action is in progress. */
export function busyState<Action extends string = never>() {
  const now = signal(false);
  /** What went wrong in the last action, or empty. */
  const error = signal('');
  const last = signal<Action | undefined>(undefined);

  /**
   * @param work returns what went wrong
   * @param action the button that shows progress, on a page with several
   */
  async function run(work: () => Promise<string | undefined>, action?: Action): Promise<void> {
    if (now.value) return;
    const clicked = document.activeElement;
    now.value = true;
    last.value = action;
    error.value = '';
    try {
      const problem = await work();
      if (problem !== undefined) error.value = problem;
    } finally {
      if (!isLeaving) {
        now.value = false;
        requestAnimationFrame(() => restoreFocus(clicked));
      }
    }
  }

  /** The label of a button: `text`, or a progress label while its action runs. */
  const label = (text: string, action?: Action): string =>
    now.value && last.value === action ? texts.common.busy : text;

  /** The error of the last action, for the field that it concerns. */
  const errorOf = (action: Action): string => (last.value === action ? error.value : '');

  return { now, error, run, label, errorOf };
}

/** A disabled button loses focus. Returns it for keyboard users, unless the action moved it elsewhere. */
function restoreFocus(to: Element | null): void {
  if (document.activeElement === document.body && to instanceof HTMLElement && to.isConnected) to.focus();
}
