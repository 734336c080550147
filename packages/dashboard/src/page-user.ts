import type { Profile } from '@latchkey/contract/account';
import { signal } from '@preact/signals';

type PageUser = Pick<Profile, 'id' | 'email'>;

let shown: PageUser | undefined;

/** Whom the page shows, once it is known. */
export const pageUser = (): PageUser | undefined => shown;

/** From now on the page is about this user: what it asks for is refused with a credential of anybody else. */
export function setPageUser(user: PageUser): void {
  shown = user;
}

/** The address of whoever is signed in by now, where that is somebody else than the page shows. */
export const otherUserEmail = signal<string | undefined>(undefined);
