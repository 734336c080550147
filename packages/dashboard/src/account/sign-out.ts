import { signal } from '@preact/signals';
import { call } from '../api.ts';
import { explain } from '../error-messages.ts';
import { noteSignOut } from '../signed-out.ts';
import { busyState, leaveTo } from '../ui/busy.ts';
import { runAction } from './actions.tsx';

/** Why signing out failed, by what was signed out. */
export const signOutError = { session: signal(''), everywhere: signal('') };
export const signingOut = busyState<'session' | 'everywhere'>();

/** Ends this session, or all of the user's sessions, and goes to the sign-in page. */
export const signOut = (scope: 'session' | 'everywhere') =>
  signingOut.run(async () => {
    const error = signOutError[scope];
    error.value = '';
    const result = await runAction(() => call('logout', scope === 'session' ? { query: { scope } } : {}));
    if (!result.ok) return explain(result.problem);
    noteSignOut(scope);
    return leaveTo('/login');
  }, scope);
