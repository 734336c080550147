import { tabNote } from './tab-note.ts';

const note = tabNote('signed-in-by-mail');

// After an email sign-in, this tab offers a passkey once.

export const noteEmailSignIn = () => note.leave('1');

export const signedInByEmail = (): boolean => note.read() !== null;

export const forgetEmailSignIn = () => note.remove();
