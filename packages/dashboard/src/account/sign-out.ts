import { signal } from '@preact/signals';
import { logout } from '../api.ts';
import { explain } from '../error-messages.ts';
import { noteSignOut } from '../signed-out.ts';
import { busyState } from '../ui/busy.ts';
import { runAction } from './actions.tsx';

/** Why signing out failed, by what was signed out. */
export const signOutError = { session: signal(''), everywhere: signal('') };
export const signingOut = busyState<'session' | 'everywhere'>();

/** Ends this session, or all of the user's sessions, and goes to the sign-in page. */
export const signOut = (scope: 'session' | 'everywhere') =>
  signingOut.run(async () => {
    const error = signOutError[scope];
    error.value = '';
    const result = await runAction(() => logout(scope));
    if (!result.ok) {
      error.value = explain(result.problem);
      return undefined;
    }
    noteSignOut(scope);
    location.replace('/login');
    return 'leaving';
  }, scope);
