import type {
  AuthenticationResponse,
  CreationOptions,
  RegistrationResponse,
  RequestOptions,
} from '@latchkey/contract/passkeys';
import { LatchkeyError, type PasskeyErrorCode } from '../errors.ts';

/**
 * Whether pages at this address can use passkeys: they need a secure context and a domain name.
 * @example
 * hint.hidden = passkeysAvailable;
 */
export const passkeysAvailable =
  globalThis.isSecureContext === true && !/^\[|^\d+(\.\d+){3}$/.test(globalThis.location.hostname);

/**
 * Whether this page can use passkeys in this browser, with the JSON methods of WebAuthn Level 3.
 * @example
 * button.hidden = !passkeysSupported;
 */
export const passkeysSupported =
  passkeysAvailable &&
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

/** Creates a passkey in the browser. @throws {LatchkeyError} a `PasskeyErrorCode` @internal */
export const makeCredential = (options: CreationOptions) =>
  ceremony(registrationOf, () =>
    navigator.credentials.create({
      publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(
        options as PublicKeyCredentialCreationOptionsJSON,
      ),
    }),
  );

/**
 * Uses a passkey in the browser's dialog or, with `autofillUntil`, in its autofill until that signal aborts.
 * @throws {LatchkeyError} a `PasskeyErrorCode`
 * @internal
 */
export const useCredential = (options: RequestOptions, autofillUntil?: AbortSignal) =>
  ceremony(
    authenticationOf,
    () =>
      navigator.credentials.get({
        publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(
          options as PublicKeyCredentialRequestOptionsJSON,
        ),
        ...(autofillUntil ? { mediation: 'conditional', signal: autofillUntil } : {}),
      }),
    autofillUntil,
  );

/**
 * Asks for a passkey that confirms what the options were issued for. Send the response as `passkey` with the
 * request that needs it.
 * @throws {LatchkeyError} a `PasskeyErrorCode`
 * @example
 * const { passkey: options } = await api.call('verifyDevice', { body: { user_code } });
 * const passkey = options && (await touchPasskey(options));
 */
export const touchPasskey = (options: RequestOptions) => useCredential(options);

async function ceremony<T>(
  responseOf: (credential: Received) => T,
  start: () => Promise<Credential | null>,
  signal?: AbortSignal,
): Promise<T> {
  if (!passkeysSupported) throw failed('passkeys_unsupported');
  let credential: Credential | null;
  try {
    credential = await start();
  } catch (error) {
    throw failed(
      signal?.aborted ? 'passkey_aborted' : failureOf(error, await deviceHasAuthenticator()),
      error,
    );
  }
  if (credential === null) throw failed('passkey_failed');
  return inJson(responseOf, credential as unknown as Received);
}

/**
 * Converts a credential to JSON. Password managers replace `navigator.credentials`: the `toJSON` of some
 * throws, that of others writes standard base64, and some omit `rawId`. So the JSON is built from the
 * buffers, and `toJSON` is called only where there are none.
 * @internal
 */
export function inJson<T>(responseOf: (credential: Received) => T, credential: Received): T {
  try {
    return responseOf(credential);
  } catch {
    try {
      return responseOf(credential.toJSON());
    } catch (error) {
      throw failed('passkey_failed', error);
    }
  }
}

const failed = (code: PasskeyErrorCode, cause?: unknown) =>
  new LatchkeyError(code, 'The browser created or used no passkey.', { cause });

const deviceHasAuthenticator = () =>
  PublicKeyCredential.isUserVerifyingPlatformAuthenticatorAvailable().catch(() => true);

/**
 * The code for a rejected `navigator.credentials` call. Browsers report `NotAllowedError` for a cancelled
 * dialog, a timeout and a device without authenticator alike; only asking the device identifies the last.
 * @see WebAuthn Level 3 sections 5.1.3 and 5.1.4
 * @internal
 */
export function failureOf(error: unknown, deviceHasAuthenticator: boolean): PasskeyErrorCode {
  const name = error instanceof Error ? error.name : '';
  if (name === 'NotAllowedError') return deviceHasAuthenticator ? 'passkey_cancelled' : 'no_authenticator';
  return failures.get(name) ?? 'passkey_failed';
}

const failures: ReadonlyMap<string, PasskeyErrorCode> = new Map([
  ['AbortError', 'passkey_aborted'],
  ['InvalidStateError', 'passkey_already_there'],
  ['ConstraintError', 'no_authenticator'],
  ['NotSupportedError', 'no_authenticator'],
]);

/** A credential with buffers, or its JSON form with text. @internal */
export interface Received {
  readonly id: string;
  readonly rawId?: unknown;
  readonly authenticatorAttachment?: string | null;
  readonly response: Readonly<Record<string, unknown>> & {
    readonly transports?: string[];
    getTransports?(): string[];
  };
  toJSON(): Received;
}

/** @internal */
export const registrationOf = (credential: Received): RegistrationResponse => {
  const { response } = credential;
  return {
    ...commonMembers(credential),
    response: {
      clientDataJSON: base64urlOf(response['clientDataJSON']),
      attestationObject: base64urlOf(response['attestationObject']),
      transports: response.transports ?? response.getTransports?.() ?? [],
    },
  };
};

/** @internal */
export const authenticationOf = (credential: Received): AuthenticationResponse => {
  const { response } = credential;
  const userHandle = response['userHandle'] ?? null;
  return {
    ...commonMembers(credential),
    response: {
      clientDataJSON: base64urlOf(response['clientDataJSON']),
      authenticatorData: base64urlOf(response['authenticatorData']),
      signature: base64urlOf(response['signature']),
      userHandle: userHandle === null ? null : base64urlOf(userHandle),
    },
  };
};

const commonMembers = ({ id, rawId, authenticatorAttachment }: Received) => ({
  id: base64urlOf(rawId ?? id),
  rawId: base64urlOf(rawId ?? id),
  type: 'public-key' as const,
  authenticatorAttachment: authenticatorAttachment ?? null,
  clientExtensionResults: {},
});

/** @throws {TypeError} for anything but bytes, of whatever realm, and base64 of either alphabet */
function base64urlOf(bytes: unknown): string {
  const text = typeof bytes === 'string' ? bytes : btoa(binaryOf(bytes));
  return text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

function binaryOf(bytes: unknown): string {
  if (!ArrayBuffer.isView(bytes) && Object.prototype.toString.call(bytes) !== '[object ArrayBuffer]')
    throw new TypeError('not bytes');
  const view = ArrayBuffer.isView(bytes)
    ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    : new Uint8Array(bytes as ArrayBuffer);
  return Array.from(view, (byte) => String.fromCharCode(byte)).join('');
}
