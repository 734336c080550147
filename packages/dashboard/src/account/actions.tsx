import { signal } from '@preact/signals';
import { call, type Result } from '../api.ts';
import { withRecentSignIn } from '../confirm/confirm.tsx';
import { explain } from '../error-messages.ts';
import { home, loginPath } from '../next.ts';
import { signOutNote } from '../tab-note.ts';
import { texts } from '../texts.ts';
import { busyState, leaveTo } from '../ui/busy.ts';
import { StayDialog } from '../ui/dialog.tsx';
import { StatusMessage } from '../ui/elements.tsx';

const isSignedOut = signal<true | undefined>(undefined);

/** Counts how often the user decided to stay on the page. */
let stays = 0;
isSignedOut.subscribe((is) => {
  if (!is) stays++;
});

/** Counts the changes made or met on this page, each of which adds to the security log. */
export const changeCount = signal(0);

/** Opens `SignedOutDialog` if the session has ended, unless the user decided to stay since the request. */
export async function detectSignOut<T>(request: Promise<Result<T>>): Promise<Result<T>> {
  const staysBefore = stays;
  const result = await request;
  if (!result.ok && result.problem.code === 'invalid_token' && stays === staysBefore)
    isSignedOut.value = true;
  return result;
}

/** Reads again if the account was changed on this page meanwhile, because the response may be older than the change. */
export async function upToDate<T>(read: () => Promise<T>): Promise<T> {
  const changes = changeCount.value;
  const result = await read();
  return changes === changeCount.value ? result : upToDate(read);
}

/** Asks the user to confirm their identity if the action requires it. */
function requestAction<T>(action: () => Promise<Result<T>>): Promise<Result<T>> {
  hideDone();
  return detectSignOut(withRecentSignIn(action));
}

export async function runAction<T>(action: () => Promise<Result<T>>): Promise<Result<T>> {
  const result = await requestAction(action);
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

export const signingOut = {
  session: busyState(),
  everywhere: busyState<'address'>(),
  deleted: busyState<'address'>(),
};

const requests = {
  session: () => call('logout', { query: { scope: 'session' } }),
  everywhere: () => call('logout', {}),
  deleted: () => call('deleteAccount'),
};

/** Ends this session, all of the user's sessions, or the account, and goes to the sign-in page. */
export const signOut = (how: keyof typeof requests) =>
  signingOut[how].run(async () => {
    // Nothing on this page is read again: it would find the session ended.
    const result = await requestAction<unknown>(requests[how]);
    if (!result.ok) return explain(result.problem, { conflict: texts.account.danger.onlyOwner });
    signOutNote.leave(how);
    return leaveTo('/login');
  });
