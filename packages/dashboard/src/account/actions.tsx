import { signal } from '@preact/signals';
import type { Result } from '../api.ts';
import { withRecentSignIn } from '../confirm/confirm.tsx';
import { home, loginPath } from '../next.ts';
import { Dialog } from '../ui/dialog.tsx';

const isOver = signal(false);
const isDismissed = signal(false);

/** How often something in the account was changed here: each time the security log has grown. */
export const changes = signal(0);

/** Hands on what came of a request; a login that is over is told once, for the whole page. */
export function detectSignOut<T>(result: Result<T>): Result<T> {
  if (!result.ok && result.problem.code === 'invalid_token') {
    isOver.value = true;
    isDismissed.value = false;
  }
  return result;
}

/** Changes something of the account, with a confirmation in place where it needs one. */
export async function runAction<T>(work: () => Promise<Result<T>>): Promise<Result<T>> {
  const result = detectSignOut(await withRecentSignIn(work));
  if (result.ok) changes.value++;
  return result;
}

/** Says that the login has ended while the page was open, and leads back in; what was typed can still be read. */
export function SignedOutDialog() {
  if (!isOver.value || isDismissed.value) return null;
  const dismiss = () => {
    isDismissed.value = true;
  };
  return (
    <Dialog id="signed-out" title="You are signed out" onClose={dismiss}>
      <p>
        This login has ended: it was signed out somewhere else, or its time was over. Nothing was changed by
        what you did last.
      </p>
      <div class="row">
        <a class="button" href={loginPath(home)}>
          Sign in again
        </a>
        <button type="button" class="plain" onClick={dismiss}>
          Look at this page first
        </button>
      </div>
    </Dialog>
  );
}
