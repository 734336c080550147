import { tabNote } from './tab-note.ts';

/** Left after an email sign-in: this tab then offers a passkey once. */
export const emailSignInNote = tabNote('signed-in-by-mail');
