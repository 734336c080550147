/** What a page leaves for the next one in the same tab. */
export interface TabNote {
  /** With storage disabled, nothing is kept. */
  leave(text: string): void;
  read(): string | null;
  remove(): void;
}

export function tabNote(name: string): TabNote {
  const key = `latchkey.${name}`;
  return {
    leave: (text) => {
      try {
        sessionStorage.setItem(key, text);
      } catch {}
    },
    read: () => {
      try {
        return sessionStorage.getItem(key);
      } catch {
        return null;
      }
    },
    remove: () => {
      try {
        sessionStorage.removeItem(key);
      } catch {}
    },
  };
}
