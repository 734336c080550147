import type {
  AuthenticationResponse,
  CreationOptions,
  RegistrationResponse,
  RequestOptions,
} from '@latchkey/contract/passkeys';
import { LatchkeyError, type PasskeyErrorCode } from '../errors.ts';

/**
 * Whether this browser supports passkeys, with the JSON methods of WebAuthn Level 3.
 * @example
 * button.hidden = !passkeysSupported;
 */
export const passkeysSupported =
  'PublicKeyCredential' in globalThis &&
  typeof PublicKeyCredential.parseRequestOptionsFromJSON === 'function' &&
  typeof PublicKeyCredential.parseCreationOptionsFromJSON === 'function';

/**
 * Whether the browser offers passkeys in autofill.
 * @example
 * if (await autofillSupported()) startAutofill();
 */
export const autofillSupported = async (): Promise<boolean> =>
  passkeysSupported && (await PublicKeyCredential.isConditionalMediationAvailable?.().catch(() => false));

/**
 * Creates a passkey in the browser.
 * @throws {LatchkeyError} a `PasskeyErrorCode`
 * @internal
 */
export const makeCredential = (options: CreationOptions) =>
  ceremony<RegistrationResponse>(() =>
    navigator.credentials.create({
      publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(
        options as PublicKeyCredentialCreationOptionsJSON,
      ),
    }),
  );

/**
 * Uses a passkey: in the browser's dialog or, with `autofillUntil`, in its autofill until that signal is aborted.
 * @throws {LatchkeyError} a `PasskeyErrorCode`
 * @internal
 */
export const useCredential = (options: RequestOptions, autofillUntil?: AbortSignal) =>
  ceremony<AuthenticationResponse>(
    () =>
      navigator.credentials.get({
        publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options),
        ...(autofillUntil ? { mediation: 'conditional', signal: autofillUntil } : {}),
      }),
    autofillUntil,
  );

async function ceremony<T>(start: () => Promise<Credential | null>, signal?: AbortSignal): Promise<T> {
  if (!passkeysSupported) throw failed('passkeys_unsupported');
  try {
    const credential = await start();
    if (credential !== null) return (credential as PublicKeyCredential).toJSON() as T;
  } catch (error) {
    throw failed(
      signal?.aborted ? 'passkey_aborted' : failureOf(error, await deviceHasAuthenticator()),
      error,
    );
  }
  throw failed('passkey_failed');
}

const failed = (code: PasskeyErrorCode, cause?: unknown) =>
  new LatchkeyError(code, 'The browser created or used no passkey.', { cause });

const deviceHasAuthenticator = () =>
  PublicKeyCredential.isUserVerifyingPlatformAuthenticatorAvailable().catch(() => true);

/**
 * The code for a rejected `navigator.credentials` call. Browsers report `NotAllowedError` for a cancelled dialog, a
 * timeout and a device without authenticator alike; only asking the device identifies the last.
 * @see WebAuthn Level 3 sections 5.1.3 and 5.1.4
 * @internal
 */
export function failureOf(error: unknown, deviceHasAuthenticator: boolean): PasskeyErrorCode {
  switch (error instanceof Error ? error.name : '') {
    case 'AbortError':
      return 'passkey_aborted';
    case 'InvalidStateError':
      return 'passkey_already_there';
    case 'NotAllowedError':
      return deviceHasAuthenticator ? 'passkey_cancelled' : 'no_authenticator';
    case 'ConstraintError':
    case 'NotSupportedError':
      return 'no_authenticator';
    default:
      return 'passkey_failed';
  }
}
