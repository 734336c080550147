const key = 'latchkey.signed-in-by-mail';

// This tab remembers, until it has said so once, that a passkey would have spared the person the mail. Storage may
// be switched off: then nothing is offered beyond the account page itself.

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
