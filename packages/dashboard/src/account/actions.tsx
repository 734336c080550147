import { signal } from '@preact/signals';
import type { Result } from '../api.ts';
import { withRecentSignIn } from '../confirm/confirm.tsx';
import { home, loginPath } from '../next.ts';
import { texts } from '../texts.ts';
import { StayDialog } from '../ui/dialog.tsx';
import { StatusMessage } from '../ui/messages.tsx';

const isSignedOut = signal<true | undefined>(undefined);

/** Counts the changes made or met on this page, each of which adds to the security log. */
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
  // What is not there was changed elsewhere.
  if (result.ok || result.problem.code === 'not_found') changeCount.value++;
  return result;
}

/** Offers to sign in again when the session ended while the page was open. */
export const SignedOutDialog = () =>
  isSignedOut.value ? (
    <StayDialog
      id="signed-out"
      title={texts.common.signedOut}
      reason={isSignedOut}
      action={
        <a class="button" href={loginPath(home)}>
          {texts.account.signedOut.again}
        </a>
      }
    >
      {texts.account.signedOut.text}
    </StayDialog>
  ) : null;

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
