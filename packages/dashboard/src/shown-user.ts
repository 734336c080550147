import type { Profile } from '@latchkey/contract/account';
import { signal } from '@preact/signals';

type ShownUser = Pick<Profile, 'id' | 'email'>;

let shown: ShownUser | undefined;

/** Whom the page shows, once it is known. */
export const shownUser = (): ShownUser | undefined => shown;

/** From now on the page is about this user: what it asks for is refused with a credential of anybody else. */
export function showUser(user: ShownUser): void {
  shown = user;
}

/** The address of whoever is signed in by now, where that is somebody else than the page shows. */
export const isDifferentUser = signal<string | undefined>(undefined);
