import type { CreationOptions } from '@latchkey/contract/passkeys';
import type { Api } from '../api.ts';

// What the service knows is told to the browser's password managers, so that they offer no passkey that is gone.
// Each call is a courtesy: a browser without it, or one that refuses, changes nothing for the person.
// https://w3c.github.io/webauthn/#sctn-signal-methods

type Signal = 'signalUnknownCredential' | 'signalAllAcceptedCredentials' | 'signalCurrentUserDetails';

const can = (signal: Signal) =>
  'PublicKeyCredential' in window && typeof PublicKeyCredential[signal] === 'function';

/** This passkey is registered nowhere here. Only for the service's plain word that it is so. */
export async function signalUnknown(rpId: string, credentialId: string): Promise<void> {
  if (!can('signalUnknownCredential')) return;
  await PublicKeyCredential.signalUnknownCredential({ rpId, credentialId }).catch(() => {});
}

type Identity = Pick<CreationOptions, 'rp' | 'user'>;
let identity: Identity | undefined;

/** Only the creation options name the user handle, which the signals about a whole account need. */
export function rememberIdentity({ rp, user }: Identity): void {
  identity = { rp, user };
}

/**
 * One at a time over all tabs: a list that was fetched before a passkey was registered, and told after the browser
 * had made it, would have the new passkey thrown away.
 */
export const inTurn = <T>(work: () => Promise<T>): Promise<T> =>
  navigator.locks.request('latchkey.passkeys', work) as Promise<T>;

/**
 * Tells which passkeys the account has and what the account is called. Asks for creation options when none were
 * seen yet, which a login that is not recent is refused. Only to be called in turn.
 */
export async function signalAccount(api: Api): Promise<void> {
  if (!can('signalAllAcceptedCredentials') && !can('signalCurrentUserDetails')) return;
  if (identity === undefined) {
    const options = await api.call('startPasskeyRegistration').catch(() => undefined);
    if (!options) return;
    identity = options;
  }
  const { rp, user } = identity;
  const of = { rpId: rp.id, userId: user.id };
  if (can('signalCurrentUserDetails')) {
    const details = { ...of, name: user.name, displayName: user.displayName };
    await PublicKeyCredential.signalCurrentUserDetails(details).catch(() => {});
  }
  if (!can('signalAllAcceptedCredentials')) return;
  const list = await api.call('listPasskeys').catch(() => undefined);
  if (!list) return;
  const allAcceptedCredentialIds = list.passkeys.map(({ credential_id }) => credential_id);
  await PublicKeyCredential.signalAllAcceptedCredentials({ ...of, allAcceptedCredentialIds }).catch(() => {});
}
