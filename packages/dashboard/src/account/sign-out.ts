import { call } from '../api.ts';
import { explain } from '../error-messages.ts';
import { noteSignOut } from '../signed-out.ts';
import { busyState, leaveTo } from '../ui/busy.ts';
import { runAction } from './actions.tsx';

/** Signing out of this session, and of all sessions. */
export const signingOut = { session: busyState(), everywhere: busyState() };

/** Ends this session, or all of the user's sessions, and goes to the sign-in page. */
export const signOut = (scope: 'session' | 'everywhere') =>
  signingOut[scope].run(async () => {
    const result = await runAction(() => call('logout', scope === 'session' ? { query: { scope } } : {}));
    if (!result.ok) return explain(result.problem);
    noteSignOut(scope);
    return leaveTo('/login');
  });
