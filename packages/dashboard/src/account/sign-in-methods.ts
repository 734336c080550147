import type { Session } from '@latchkey/contract/sessions';

/** How each way to sign in is worded after "Signed in" or the name of a session. */
export const signInMethods: Readonly<Record<Session['method'], string>> = {
  device_code: 'with browser approval',
  magic_link: 'with an email link',
  email_code: 'with an email code',
  passkey: 'with a passkey',
  token_exchange: 'with a token of another session',
};
