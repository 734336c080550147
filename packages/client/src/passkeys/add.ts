import type { Passkey } from '@latchkey/contract/passkeys';
import type { Api } from '../api.ts';
import { LatchkeyError } from '../errors.ts';
import { makeCredential } from './ceremony.ts';
import { inTurn, signalAccount, signalUnknown } from './signal.ts';

interface AddOptions {
  /** The name of a passkey whose authenticator does not say what it is. Default: `Passkey`. */
  readonly fallbackName?: string | undefined;
}

/**
 * Creates a passkey in the browser and registers it. Requires a recent sign-in.
 * @throws {LatchkeyError} a `PasskeyErrorCode`, or the service's error code
 * @example
 * const { name } = await addPasskey(api);
 */
export const addPasskey = (api: Api, options: AddOptions = {}): Promise<Passkey> =>
  inTurn(() => create(api, options));

async function create(api: Api, { fallbackName: name }: AddOptions): Promise<Passkey> {
  const options = await api.call('startPasskeyRegistration');
  const made = await makeCredential(options);
  const body = name !== undefined && isAnonymous(made.response.attestationObject) ? { ...made, name } : made;
  try {
    const added = await api.call('registerPasskey', { body });
    await signalAccount(api);
    return added;
  } catch (error) {
    // The passkey that the browser has just created is useless, unless no response of the service says so.
    if (isRefused(error)) await signalUnknown(options.rp.id, body.id);
    else if (isAnswered(error)) await signalAccount(api, { id: body.id, userId: options.user.id });
    throw error;
  }
}

/** Whether the AAGUID is zero: 16 bytes behind the first 37 of the authenticator data. @see WebAuthn Level 3 section 6.5.1 */
function isAnonymous(attestationObject: string): boolean {
  const bytes = atob(attestationObject.replaceAll('-', '+').replaceAll('_', '/'));
  const [, aaguid] = /authData(?:X.|Y..).{37}(.{16})/s.exec(bytes) ?? [];
  return aaguid === '\0'.repeat(16);
}

/** Whether this is a response of the service itself: a proxy may send its own after the service has registered the passkey. */
const isAnswered = (error: unknown): error is LatchkeyError =>
  error instanceof LatchkeyError && error.requestId !== undefined;

/** Whether the service certainly did not register the passkey. With `conflict`, an earlier attempt may have. */
const isRefused = (error: unknown): boolean =>
  isAnswered(error) && Number(error.status) < 500 && error.code !== 'conflict';
