import { signal } from '@preact/signals';
import type { Result } from '../api.ts';
import { withRecentSignIn } from '../confirm/confirm.tsx';
import { home, loginPath } from '../next.ts';
import { texts } from '../texts.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { StatusMessage } from '../ui/messages.tsx';

const isSignedOut = signal(false);

/** Counts the changes made on this page, each of which adds to the security log. */
export const changeCount = signal(0);

/** Returns the result unchanged. If the session has ended, opens `SignedOutDialog` for the whole page. */
export function detectSignOut<T>(result: Result<T>): Result<T> {
  if (!result.ok && result.problem.code === 'invalid_token') isSignedOut.value = true;
  return result;
}

/** Changes something in the account. Asks the user to confirm their identity if the change requires it. */
export async function runAction<T>(action: () => Promise<Result<T>>): Promise<Result<T>> {
  hideDone();
  const result = detectSignOut(await withRecentSignIn(action));
  if (result.ok) changeCount.value++;
  return result;
}

/** Offers to sign in again when the session ended while the page was open. Whatever was typed stays on the page. */
export function SignedOutDialog() {
  if (!isSignedOut.value) return null;
  const dismiss = () => {
    isSignedOut.value = false;
  };
  return (
    <Dialog id="signed-out" title={texts.common.signedOut} onClose={dismiss}>
      <p>{texts.account.signedOut.text}</p>
      <div class="row">
        <a class="button" href={loginPath(home)}>
          {texts.account.signedOut.again}
        </a>
        <Button class="plain" onClick={dismiss}>
          {texts.common.stay}
        </Button>
      </div>
    </Dialog>
  );
}

/** What was done last, and the section of the page where it was done. */
const done = signal<{ readonly section: string; readonly text: string } | undefined>(undefined);

/** Says at the top of a section what was done, in place of anything said before. */
export function showDone(section: string, text: string): void {
  done.value = { section, text };
}

export function hideDone(): void {
  done.value = undefined;
}

/** What `showDone` says for this section, in the page, where it covers nothing. */
export const Done = ({ section }: { section: string }) => (
  <StatusMessage id={`${section}-done`} text={done.value?.section === section ? done.value.text : ''} />
);
