import { type ReadonlySignal, signal } from '@preact/signals';

/**
 * At most one piece of work at a time: `run` ignores a second click while the first is under way. Work that ends
 * by leaving the page returns `leaving`, and everything stays disabled until the next page is there.
 */
interface Busy<Action extends string> {
  readonly now: ReadonlySignal<boolean>;
  /** @param action which button shows that the work is under way, where a page has several */
  run(work: () => Promise<'leaving' | undefined>, action?: Action): Promise<void>;
  /** The text of the button for `action`: `text`, or a request for patience while that action runs. */
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
        requestAnimationFrame(() => giveBackFocus(clicked));
      }
    }
  };
  // A page that comes back from the browser's back-forward cache is usable again.
  window.addEventListener('pageshow', (event) => {
    if (event.persisted) location.reload();
  });
  const label: Busy<Action>['label'] = (action, text) => (running.value === action ? 'One moment…' : text);
  return { now, run, label };
}

/** What is disabled loses the focus; whoever uses a keyboard goes on where they were, unless the work moved them. */
function giveBackFocus(to: Element | null): void {
  if (document.activeElement === document.body && to instanceof HTMLElement && to.isConnected) to.focus();
}
