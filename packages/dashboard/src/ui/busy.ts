import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import { texts } from '../texts.ts';

/** Runs one action at a time: `run` ignores clicks while an action is in progress. */
export interface Busy<Action extends string = never> {
  readonly now: ReadonlySignal<boolean>;
  /** What went wrong in the last action, or empty. */
  readonly error: Signal<string>;
  /**
   * @param work returns what went wrong
   * @param action the button that shows progress, on a page with several
   */
  run(work: () => Promise<string | undefined>, action?: Action): Promise<void>;
  /** The label of a button: `text`, or a progress label while its action runs. */
  label(text: string, action?: Action): string;
}

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

export function busyState<Action extends string = never>(): Busy<Action> {
  const now = signal(false);
  const error = signal('');
  const running = signal<Action | undefined>(undefined);
  const run: Busy<Action>['run'] = async (work, action) => {
    if (now.value) return;
    const clicked = document.activeElement;
    now.value = true;
    running.value = action;
    error.value = '';
    try {
      const problem = await work();
      if (problem !== undefined) error.value = problem;
    } finally {
      if (!isLeaving) {
        now.value = false;
        running.value = undefined;
        requestAnimationFrame(() => restoreFocus(clicked));
      }
    }
  };
  const label: Busy<Action>['label'] = (text, action) =>
    now.value && running.value === action ? texts.common.busy : text;
  return { now, error, run, label };
}

/** A disabled button loses focus. Returns it for keyboard users, unless the action moved it elsewhere. */
function restoreFocus(to: Element | null): void {
  if (document.activeElement === document.body && to instanceof HTMLElement && to.isConnected) to.focus();
}
