/** A text that this browser or this tab keeps. */
export interface Note {
  /** With storage disabled, nothing is kept. */
  leave(text: string): void;
  read(): string | null;
  remove(): void;
}

/** A note under this key. @param storage where it is; in some browsers, asking for that fails */
export const noteIn = (storage: () => Storage, key: string): Note => ({
  leave: (text) => {
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
export const tabNote = (name: string): Note => noteIn(() => sessionStorage, `latchkey.${name}`);
