import type { CreationOptions } from '@latchkey/contract/passkeys';
import type { Api } from '../api.ts';

// Keeps the browser's password managers in sync with the service, so that they do not offer removed passkeys. Every
// call is optional: a browser that lacks it or refuses changes nothing for the person.
// https://w3c.github.io/webauthn/#sctn-signal-methods

const signals = (): Partial<typeof PublicKeyCredential> =>
  'PublicKeyCredential' in window ? PublicKeyCredential : {};

/**
 * Makes password managers delete this passkey for good. Call it only if the service says it does not know it.
 * @internal
 */
export async function signalUnknown(rpId: string, credentialId: string): Promise<void> {
  await signals()
    .signalUnknownCredential?.({ rpId, credentialId })
    .catch(() => {});
}

type Identity = Pick<CreationOptions, 'rp' | 'user'>;
let identity: Identity | undefined;

/** Keeps the user handle, which only the creation options contain and account-wide signals need. @internal */
export function rememberIdentity({ rp, user }: Identity): void {
  identity = { rp, user };
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

/**
 * Signals the account's passkeys and name. Requests creation options if none have been seen yet, which requires a
 * recent sign-in. Call it only within `inTurn`.
 * @param refused a passkey whose registration failed: signalled as unknown unless the account has it after all
 * @example
 * await inTurn(() => signalAccount(api));
 */
export async function signalAccount(api: Api, refused?: string): Promise<void> {
  const browser = signals();
  // Browsers have all of the methods or none.
  if (!browser.signalAllAcceptedCredentials) return;
  if (identity === undefined) {
    const options = await api.call('startPasskeyRegistration').catch(() => undefined);
    if (!options) return;
    identity = options;
  }
  const { rp, user } = identity;
  const account = { rpId: rp.id, userId: user.id };
  const details = { ...account, name: user.name, displayName: user.displayName };
  await browser.signalCurrentUserDetails?.(details).catch(() => {});
  const list = await api.call('listPasskeys').catch(() => undefined);
  if (!list) return;
  const allAcceptedCredentialIds = list.passkeys.map(({ credential_id }) => credential_id);
  if (refused !== undefined && !allAcceptedCredentialIds.includes(refused)) {
    await signalUnknown(rp.id, refused);
  }
  await browser.signalAllAcceptedCredentials({ ...account, allAcceptedCredentialIds }).catch(() => {});
}
