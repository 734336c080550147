/** How somebody has just signed out: of this login, of every login, or by deleting the account. */
export type SignOut = 'session' | 'everywhere' | 'deleted';

const signOuts: readonly unknown[] = ['session', 'everywhere', 'deleted'] satisfies SignOut[];
const key = 'latchkey.signed-out';

/** Tells the login page, which says so once. Storage may be switched off: then nothing is said. */
export function noteSignOut(signOut: SignOut): void {
  try {
    sessionStorage.setItem(key, signOut);
  } catch {}
}

/** What was noted in this tab, which is then forgotten. */
export function takeSignOut(): SignOut | undefined {
  try {
    const noted = sessionStorage.getItem(key);
    sessionStorage.removeItem(key);
    return signOuts.includes(noted) ? (noted as SignOut) : undefined;
  } catch {
    return undefined;
  }
}
