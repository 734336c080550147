import { tabNote } from './tab-note.ts';

/** How a person signed out: of this session, of every session, or by deleting the account. */
export type SignOut = 'session' | 'everywhere' | 'deleted';

const signOuts: readonly unknown[] = ['session', 'everywhere', 'deleted'] satisfies SignOut[];
const note = tabNote('signed-out');

/** Leaves a note for the sign-in page, which confirms it once. */
export const noteSignOut = (signOut: SignOut) => note.leave(signOut);

/** Returns and removes this tab's note. */
export function takeSignOut(): SignOut | undefined {
  const noted = note.read();
  note.remove();
  return signOuts.includes(noted) ? (noted as SignOut) : undefined;
}
