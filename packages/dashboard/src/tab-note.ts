/** What a use of the storage returns; null where storage is disabled. */
function tolerant<T>(use: () => T): T | null {
  try {
    return use();
  } catch {
    return null;
  }
}

/** A text that this browser or tab keeps, unless storage is disabled. @param storage may fail */
export const noteIn = (storage: () => Storage, key: string) => ({
  leave: (text: string) => tolerant(() => storage().setItem(key, text)),
  read: () => tolerant(() => storage().getItem(key)),
  remove: () => tolerant(() => storage().removeItem(key)),
});

/** What a page leaves for the next one in the same tab. */
export const tabNote = (name: string) => noteIn(() => sessionStorage, `latchkey.${name}`);

/** Left after signing out: the sign-in page confirms it once. */
export const signOutNote = tabNote('signed-out');

/** Left in a browser in which a passkey was used or added: it offers that first. */
export const passkeyNote = noteIn(() => localStorage, 'latchkey.passkey');

/** Left after an email sign-in: this tab then offers a passkey once. */
export const emailSignInNote = tabNote('signed-in-by-mail');
