import type { Api } from '../api.ts';

// Keeps the browser's password managers in sync with the service, so that they do not offer removed passkeys. Every
// call is optional: a browser that lacks it or refuses changes nothing for the person.
// https://w3c.github.io/webauthn/#sctn-signal-methods

const signals = (): Partial<typeof PublicKeyCredential> =>
  'PublicKeyCredential' in window ? PublicKeyCredential : {};

/** Makes password managers delete a passkey that the service says it does not know. @internal */
export async function signalUnknown(rpId: string, credentialId: string): Promise<void> {
  await signals()
    .signalUnknownCredential?.({ rpId, credentialId })
    .catch(() => {});
}

/**
 * Runs one at a time across all tabs: signalling a list that was fetched before a new passkey was registered would
 * make password managers delete the new one. Without a secure context there are neither passkeys nor locks.
 * @example
 * await inTurn(() => signalAccount(api));
 */
export const inTurn = <T>(work: () => Promise<T>): Promise<T> =>
  globalThis.isSecureContext
    ? (navigator.locks.request('latchkey.passkeys', () => work()) as Promise<T>)
    : work();

/** A passkey whose registration failed, with the user handle that it was made for. */
interface Refused {
  readonly id: string;
  readonly userId: string;
}

/**
 * Signals the account's passkeys and name. Requires a recent sign-in. Call it only within `inTurn`.
 * @param refused is signalled as unknown unless the account has it after all
 * @example
 * await inTurn(() => signalAccount(api));
 */
export async function signalAccount(api: Api, refused?: Refused): Promise<void> {
  const browser = signals();
  // Browsers have all of the methods or none.
  if (!browser.signalAllAcceptedCredentials) return;
  // The passkeys and the user come in one response: another user may sign in at any time, and must not lose their own by it.
  const options = await api.call('startPasskeyRegistration').catch(() => undefined);
  if (!options) return;
  const { rp, user, excludeCredentials } = options;
  const account = { rpId: rp.id, userId: user.id };
  const details = { ...account, name: user.name, displayName: user.displayName };
  await browser.signalCurrentUserDetails?.(details).catch(() => {});
  const allAcceptedCredentialIds = excludeCredentials.map(({ id }) => id);
  if (refused?.userId === user.id && !allAcceptedCredentialIds.includes(refused.id)) {
    await signalUnknown(rp.id, refused.id);
  }
  await browser.signalAllAcceptedCredentials({ ...account, allAcceptedCredentialIds }).catch(() => {});
}
