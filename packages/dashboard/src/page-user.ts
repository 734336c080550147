import type { Profile } from '@latchkey/contract/account';
import { signal } from '@preact/signals';
import { setTimePreferences } from './format.ts';

type PageUser = Pick<Profile, 'id' | 'email'>;

let current: PageUser | undefined;

/** The user whose data this page shows, once known. */
export const pageUser = (): PageUser | undefined => current;

/** Binds this page to a user: their times, and its requests fail if another one is signed in. */
export function setPageUser(user: Profile): void {
  current = user;
  setTimePreferences(user);
}

/** Binds this page to a user of whom it knows no more than that no one else is meant. */
export function setPageUserId(id: string): void {
  current = { id, email: '' };
}

/** The email of the user who is signed in now, if it is not the one this page shows. */
export const otherUserEmail = signal<string | undefined>(undefined);
