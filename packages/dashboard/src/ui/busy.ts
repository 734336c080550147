import { signal } from '@preact/signals';
import { texts } from '../texts.ts';

let isLeaving = false;

/** Leaves the page. Until the next one loads, everything stays disabled. */
export function leave(navigate: () => void): undefined {
  isLeaving = true;
  navigate();
}

export const leaveTo = (path: string): undefined => leave(() => location.replace(path));

export type Busy<Action extends string = never> = ReturnType<typeof busyState<Action>>;

/** What went wrong, with the field that it is about if it is one. */
type Failure<Name> = string | readonly [field: Name, message: string];

/**
 * Runs one action at a time: `run` ignores clicks while an action is in progress. `Name` is an action, on a page with
 * several, or a field.
 * @param begin called before each action; after it, what that returns says whether the page stays
 */
export function busyState<Name extends string = never>(begin: () => () => boolean = holdFocus) {
  const now = signal(false);
  /** What went wrong in the last action, or empty. */
  const error = signal('');
  /** The last action or, if it failed because of a field, that field. */
  const last = signal<Name | undefined>(undefined);

  function fail(failure: Failure<Name>): void {
    if (typeof failure !== 'string') last.value = failure[0];
    error.value = typeof failure === 'string' ? failure : failure[1];
  }

  /** @param work returns what went wrong @param action the button that shows progress */
  async function run(work: () => Promise<Failure<Name> | undefined>, action?: Name): Promise<void> {
    if (now.value) return;
    const stays = begin();
    now.value = true;
    last.value = action;
    error.value = '';
    try {
      const failure = await work();
      if (failure !== undefined) fail(failure);
    } finally {
      if (stays()) now.value = false;
    }
  }

  /** The label of a button: `text`, or a progress label while its action runs. */
  const label = (text: string, action?: Name): string =>
    now.value && last.value === action ? texts.common.busy : text;

  /** The error of this action or about this field. Without a name: of an action without one, about no field. */
  const errorOf = (name?: Name): string => (last.value === name ? error.value : '');

  return { now, error, run, fail, label, errorOf };
}

function holdFocus(): () => boolean {
  const clicked = document.activeElement;
  return () => {
    if (!isLeaving) requestAnimationFrame(() => restoreFocus(clicked));
    return !isLeaving;
  };
}

/** A disabled button loses focus. Returns it for keyboard users, unless the action moved it elsewhere. */
function restoreFocus(to: Element | null): void {
  const dialog = document.querySelector('dialog:modal');
  // The action has opened it.
  if (dialog && !dialog.contains(to))
    dialog.addEventListener('close', () => restoreFocus(to), { once: true });
  else if (document.activeElement === document.body && to instanceof HTMLElement && to.isConnected)
    to.focus();
}
