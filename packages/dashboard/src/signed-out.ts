/** How a person signed out: of this session, of every session, or by deleting the account. */
export type SignOut = 'session' | 'everywhere' | 'deleted';

const signOuts: readonly unknown[] = ['session', 'everywhere', 'deleted'] satisfies SignOut[];
const key = 'latchkey.signed-out';

/** Leaves a note for the sign-in page, which confirms it once. With storage disabled it shows no confirmation. */
export function noteSignOut(signOut: SignOut): void {
  try {
    sessionStorage.setItem(key, signOut);
  } catch {}
}

/** Returns and removes this tab's note. */
export function takeSignOut(): SignOut | undefined {
  try {
    const noted = sessionStorage.getItem(key);
    sessionStorage.removeItem(key);
    return signOuts.includes(noted) ? (noted as SignOut) : undefined;
  } catch {
    return undefined;
  }
}
