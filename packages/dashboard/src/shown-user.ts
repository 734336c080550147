import { signal } from '@preact/signals';

let userId: string | undefined;

/** The id of the user whom the page shows, once it is known. */
export const shownUserId = (): string | undefined => userId;

/** From now on the page is about this user: what it asks for is refused with a credential of anybody else. */
export function showUser(id: string): void {
  userId = id;
}

/** The address of whoever is signed in by now, where that is somebody else than the page shows. */
export const somebodyElse = signal<string | undefined>(undefined);
