import { type ReadonlySignal, signal } from '@preact/signals';

/**
 * At most one piece of work at a time: `run` ignores a second click while the first is under way. Work that ends
 * by leaving the page returns `leaving`, and everything stays disabled until the next page is there.
 */
interface Busy {
  readonly now: ReadonlySignal<boolean>;
  run(work: () => Promise<'leaving' | undefined>): Promise<void>;
}

export function busyState(): Busy {
  const now = signal(false);
  const run = async (work: () => Promise<'leaving' | undefined>) => {
    if (now.value) return;
    const clicked = document.activeElement;
    now.value = true;
    let outcome: 'leaving' | undefined;
    try {
      outcome = await work();
    } finally {
      if (outcome !== 'leaving') {
        now.value = false;
        requestAnimationFrame(() => giveBackFocus(clicked));
      }
    }
  };
  // A page that comes back from the browser's back-forward cache is usable again.
  window.addEventListener('pageshow', (event) => {
    if (event.persisted) location.reload();
  });
  return { now, run };
}

/** What is disabled loses the focus; whoever uses a keyboard goes on where they were, unless the work moved them. */
function giveBackFocus(to: Element | null): void {
  if (document.activeElement === document.body && to instanceof HTMLElement && to.isConnected) to.focus();
}
