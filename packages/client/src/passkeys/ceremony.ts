import type {
  AuthenticationResponse,
  CreationOptions,
  RegistrationResponse,
  RequestOptions,
} from '@latchkey/contract/passkeys';
import { LatchkeyError, type PasskeyErrorCode } from '../errors.ts';
import { failureOf } from './failure.ts';

interface How {
  /** Only by autofill, or only where the browser makes a passkey without a dialogue. */
  readonly conditional?: boolean;
  readonly signal?: AbortSignal;
}

/** Whether this browser knows passkeys in the JSON forms of WebAuthn Level 3. */
export const passkeysSupported =
  'PublicKeyCredential' in window &&
  typeof PublicKeyCredential.parseRequestOptionsFromJSON === 'function' &&
  typeof PublicKeyCredential.parseCreationOptionsFromJSON === 'function';

/** Whether the browser offers passkeys among what it fills in. */
export const autofillSupported = async (): Promise<boolean> =>
  passkeysSupported && (await PublicKeyCredential.isConditionalMediationAvailable?.().catch(() => false));

/** Whether the browser may make a passkey by itself right after another login. */
export async function upgradeSupported(): Promise<boolean> {
  if (!passkeysSupported) return false;
  const capabilities = await PublicKeyCredential.getClientCapabilities?.().catch(() => undefined);
  return capabilities?.['conditionalCreate'] === true;
}

/**
 * Has the browser make a passkey.
 * @throws {LatchkeyError} a `PasskeyErrorCode`
 */
export const makeCredential = (options: CreationOptions, { conditional, signal }: How = {}) =>
  ceremony<RegistrationResponse>(signal, () =>
    navigator.credentials.create({
      publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(
        options as PublicKeyCredentialCreationOptionsJSON,
      ),
      ...(conditional ? { mediation: 'conditional' } : {}),
      ...(signal ? { signal } : {}),
    }),
  );

/**
 * Has the browser use a passkey.
 * @throws {LatchkeyError} a `PasskeyErrorCode`
 */
export const useCredential = (options: RequestOptions, { conditional, signal }: How = {}) =>
  ceremony<AuthenticationResponse>(signal, () =>
    navigator.credentials.get({
      publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options),
      ...(conditional ? { mediation: 'conditional' } : {}),
      ...(signal ? { signal } : {}),
    }),
  );

async function ceremony<T>(
  signal: AbortSignal | undefined,
  start: () => Promise<Credential | null>,
): Promise<T> {
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
  new LatchkeyError(code, 'The browser made or used no passkey.', { cause });

const deviceHasAuthenticator = () =>
  PublicKeyCredential.isUserVerifyingPlatformAuthenticatorAvailable().catch(() => true);
