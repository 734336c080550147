/**
 * A text that this browser or this tab keeps under a key. With storage disabled, nothing is kept.
 * @param storage where it is; in some browsers, asking for that fails
 */
export const noteIn = (storage: () => Storage, key: string) => ({
  leave: (text: string) => {
    try {
      storage().setItem(key, text);
    } catch {}
  },
  read: () => {
    try {
      return storage().getItem(key);
    } catch {
      return null;
    }
  },
  remove: () => {
    try {
      storage().removeItem(key);
    } catch {}
  },
});

/** What a page leaves for the next one in the same tab. */
export const tabNote = (name: string) => noteIn(() => sessionStorage, `latchkey.${name}`);
