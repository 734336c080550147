const key = 'latchkey.signed-in-by-mail';

// After an email sign-in, this tab offers a passkey once. With storage disabled nothing is offered.

export function noteEmailSignIn(): void {
  try {
    sessionStorage.setItem(key, '1');
  } catch {}
}

export function signedInByEmail(): boolean {
  try {
    return sessionStorage.getItem(key) !== null;
  } catch {
    return false;
  }
}

export function forgetEmailSignIn(): void {
  try {
    sessionStorage.removeItem(key);
  } catch {}
}
