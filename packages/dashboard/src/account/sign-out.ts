import { call } from '../api.ts';
import { explain } from '../error-messages.ts';
import { signOutNote } from '../tab-note.ts';
import { texts } from '../texts.ts';
import { busyState, leaveTo } from '../ui/busy.ts';
import { runAction } from './actions.tsx';

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
    const result = await runAction<unknown>(requests[how]);
    if (!result.ok) return explain(result.problem, { conflict: texts.account.danger.onlyOwner });
    signOutNote.leave(how);
    return leaveTo('/login');
  });
