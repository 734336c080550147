import { type ReadonlySignal, signal } from '@preact/signals';
import { texts } from '../texts.ts';

/**
 * Runs one action at a time: `run` ignores clicks while an action is in progress. An action that navigates away
 * returns `leaving`, which keeps everything disabled until the next page loads.
 */
interface Busy<Action extends string> {
  readonly now: ReadonlySignal<boolean>;
  /** @param action the button that shows progress, on a page with several */
  run(work: () => Promise<'leaving' | undefined>, action?: Action): Promise<void>;
  /** The label of the button for `action`: `text`, or a progress label while that action runs. */
  label(action: Action, text: string): string;
}

export function busyState<Action extends string = never>(): Busy<Action> {
  const now = signal(false);
  const running = signal<Action | undefined>(undefined);
  const run: Busy<Action>['run'] = async (work, action) => {
    if (now.value) return;
    const clicked = document.activeElement;
    now.value = true;
    running.value = action;
    let outcome: 'leaving' | undefined;
    try {
      outcome = await work();
    } finally {
      if (outcome !== 'leaving') {
        now.value = false;
        running.value = undefined;
        requestAnimationFrame(() => restoreFocus(clicked));
      }
    }
  };
  // A page restored from the back-forward cache would still be disabled.
  window.addEventListener('pageshow', (event) => {
    if (event.persisted) location.reload();
  });
  const label: Busy<Action>['label'] = (action, text) =>
    running.value === action ? texts.common.busy : text;
  return { now, run, label };
}

/** A disabled button loses focus. Returns it for keyboard users, unless the action moved it elsewhere. */
function restoreFocus(to: Element | null): void {
  if (document.activeElement === document.body && to instanceof HTMLElement && to.isConnected) to.focus();
}
