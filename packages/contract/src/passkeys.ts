import { z } from 'zod';
import { at, define } from './endpoint.ts';
import { examples } from './examples.ts';
import { fieldLimits } from './field-limits.ts';
import {
  described,
  emptyObject,
  flag,
  int,
  model,
  readOnlyMembers,
  shown,
  storable,
  text,
  texts,
  time,
  url,
  visibleText,
} from './fields.ts';
import { cookieSignIn, signInQuery, tokenSet } from './tokens.ts';

/** COSE algorithms in order of preference: EdDSA, ES256, RS256. */
export const passkeyAlgorithms = [-8, -7, -257] as const;

const publicKey = z.literal('public-key').meta({ description: 'Always `public-key`.' });

const transportNames = 'How the browser can reach the authenticator.';

const challenge = shown('Random bytes to sign, in base64url. Works once.', examples.challenge);

const timeout = int('How long to wait for the user, in milliseconds.', 300_000);

const credentialDescriptor = z.object({
  type: publicKey,
  id: shown('The credential id, in base64url.', examples.credentialId),
  transports: described(z.array(z.string()).optional(), transportNames, ['internal', 'hybrid']),
});

export const creationOptions = model(
  'PublicKeyCredentialCreationOptionsJSON',
  'WebAuthn Level 3 section 5.1.10',
  {
    rp: described(
      z.object({
        id: shown('The domain of the passkey.', 'login.example'),
        name: shown('The name of the service.', 'Latchkey'),
      }),
      'The relying party: this service.',
    ),
    user: described(
      z.object({
        id: shown('A random value that stays the same for the lifetime of the account.', 'dXNlci1oYW5kbGU'),
        name: shown("The account's email address.", examples.email),
        displayName: shown("The user's name, or else the address.", 'Ada Lovelace'),
      }),
      'The account, as the browser shows it.',
    ),
    challenge,
    pubKeyCredParams: described(
      z.array(z.object({ type: publicKey, alg: int('A COSE algorithm.', passkeyAlgorithms[0]) })),
      'The algorithms that are accepted, best first.',
    ),
    timeout,
    excludeCredentials: described(z.array(credentialDescriptor), 'The passkeys that the account has.'),
    authenticatorSelection: described(
      z.object({
        residentKey: described(z.literal('required'), 'The passkey must work without an email address.'),
        requireResidentKey: z.literal(true).meta({ description: 'The same, for older browsers.' }),
        userVerification: z.literal('required').meta({ description: 'The user must unlock the passkey.' }),
      }),
      'What the passkey must be able to do.',
    ),
    attestation: z.literal('none').meta({ description: 'No proof of the make is asked for.' }),
  },
);
export type CreationOptions = z.infer<typeof creationOptions>;

export const requestOptions = model(
  'PublicKeyCredentialRequestOptionsJSON',
  'WebAuthn Level 3 section 5.1.10',
  {
    challenge,
    timeout,
    rpId: shown('The domain of the passkey.', 'login.example'),
    allowCredentials: described(
      z.array(credentialDescriptor).optional(),
      'The passkeys that can be used. Any passkey of this service if there is no such list.',
    ),
    userVerification: z.literal('required').meta({ description: 'The user must unlock the passkey.' }),
  },
);
export type RequestOptions = z.infer<typeof requestOptions>;

/** Bytes in base64url, up to `max` characters. Some managers send standard base64: it is converted. */
const bytes = (max: number) => storable(z.string().overwrite(asBase64url).min(1).max(max));

const asBase64url = (text: string): string =>
  (text.length % 4 === 0 ? text.replace(/={1,2}$/, '') : text).replaceAll('+', '-').replaceAll('/', '_');

const clientDataJSON = described(
  bytes(fieldLimits.clientDataJson),
  'What the browser says about the request, in base64url.',
  examples.clientDataJson,
);

const credential = {
  id: described(bytes(fieldLimits.credentialId), 'The credential id, in base64url.', examples.credentialId),
  rawId: described(bytes(fieldLimits.credentialId).optional(), 'The same as id.', examples.credentialId),
  type: publicKey,
  authenticatorAttachment: described(
    text(fieldLimits.transport).nullable().optional(),
    'Whether the authenticator is part of the device.',
    'platform',
  ),
  clientExtensionResults: described(z.looseObject({}).optional(), 'Extension results. None are used.', {}),
};

/** The browser's response to the creation options. @see WebAuthn Level 3 section 5.1.8 */
const registrationResponse = model('RegistrationResponseJSON', 'WebAuthn Level 3 section 5.1.8', {
  ...credential,
  response: described(
    z.object({
      clientDataJSON,
      attestationObject: described(
        bytes(fieldLimits.attestationObject),
        'The new public key and its attestation, in base64url.',
        'o2NmbXRkbm9uZWdhdHRTdG10oA',
      ),
      transports: described(
        z.array(text(fieldLimits.transport)).max(fieldLimits.transports).optional(),
        transportNames,
        ['internal', 'hybrid'],
      ),
    }),
    'What the authenticator made.',
  ),
  name: described(
    visibleText(fieldLimits.passkeyName).optional(),
    "What the user calls the passkey. Default: the authenticator's product name.",
    'Work laptop',
  ),
});
export type RegistrationResponse = z.infer<typeof registrationResponse>;

/** The browser's response to the request options. @see WebAuthn Level 3 section 5.1.8 */
const authenticationResponse = model('AuthenticationResponseJSON', 'WebAuthn Level 3 section 5.1.8', {
  ...credential,
  response: described(
    z.object({
      clientDataJSON,
      authenticatorData: described(
        bytes(fieldLimits.authenticatorData),
        'What the authenticator says about itself, in base64url.',
        'SZYN5YgOjGh0NBcPZHZgW4_krrmihjLHmVzzuoMdl2MFAAAAAQ',
      ),
      signature: described(
        bytes(fieldLimits.signature),
        'The signature over both, in base64url.',
        'MEUCIQDx3vK8Wn0q',
      ),
      userHandle: described(
        z.string().overwrite(asBase64url).max(fieldLimits.userHandle).nullable().optional(),
        'The user id that the passkey was created with.',
        'dXNlci1oYW5kbGU',
      ),
    }),
    'What the authenticator signed.',
  ),
});
export type AuthenticationResponse = z.infer<typeof authenticationResponse>;

export const touchOptions = requestOptions
  .nullable()
  .meta({ description: 'The options to confirm this with a passkey. Null if a recent sign-in is enough.' });
export const touch = authenticationResponse
  .nullish()
  .meta({ description: 'The response to the options, if there were any.' });

/** What `invalid_grant` means for such a response. */
export const refusedTouch =
  'The passkey response is for something else, has expired, was already used or is not of this account.';

export const passkeyId = shown('The id of the passkey.', examples.passkeyId);

export const passkey = model('Passkey', "One of the user's passkeys.", {
  id: passkeyId,
  credential_id: shown('Its WebAuthn credential id, in base64url.', examples.credentialId),
  name: shown('What the user calls it.', 'Work laptop'),
  aaguid: shown('The make of the authenticator, or all zeros.', 'ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4'),
  device_type: described(
    z.enum(['single_device', 'multi_device']),
    'Whether the passkey stays on one device or can be synchronized to others.',
    'multi_device',
  ),
  backed_up: flag('Whether it was backed up at its last use.', true),
  transports: texts(transportNames, ['internal', 'hybrid']),
  created_at: time.meta({ description: 'When it was registered.' }),
  last_used_at: described(
    time.nullable(),
    'When it was last used to sign in or to approve something. Null until its first use.',
  ),
});
export type Passkey = z.infer<typeof passkey>;

/** @see W3C A Well-Known URL for Relying Party Passkey Endpoints, section 2 */
export const passkeyPages = z.object({
  enroll: url('The page where users add a passkey.', 'https://login.example/account#security'),
  manage: url('The page where users manage their passkeys.', 'https://login.example/account#security'),
});

/** @see WebAuthn Level 3 section 5.11 */
export const relatedOriginList = z.object({
  origins: described(z.array(z.url()), 'The origins that may use the passkeys.', ['https://login.example']),
});

export const passkeyEndpoints = {
  startPasskeyRegistration: define({
    ...at('passkeys', 'post', '/passkey/register/challenge'),
    title: 'Start registering a passkey',
    notes:
      'The response is a PublicKeyCredentialCreationOptionsJSON (WebAuthn Level 3). Complete the registration in the same session.',
    access: 'recent',
    body: emptyObject,
    bodyOptional: true,
    response: creationOptions,
    errors: { rate_limited: true },
  }),
  registerPasskey: define({
    ...at('passkeys', 'post', '/passkey/register'),
    title: 'Register a passkey',
    notes: 'Takes a RegistrationResponseJSON, in the session that requested the options.',
    access: 'bearer',
    body: registrationResponse,
    status: 201,
    response: passkey,
    errors: {
      invalid_grant: 'The response does not verify, or its challenge has expired or was already used.',
      conflict: 'The passkey is already registered, or the account has reached its limit of passkeys.',
      rate_limited: true,
    },
  }),
  startPasskeyLogin: define({
    ...at('passkeys', 'post', '/passkey/login/challenge'),
    title: 'Start a sign-in with a passkey',
    notes: 'The response is a PublicKeyCredentialRequestOptionsJSON (WebAuthn Level 3).',
    access: 'anyone',
    body: emptyObject,
    bodyOptional: true,
    response: requestOptions,
    errors: { rate_limited: true },
  }),
  loginWithPasskey: define({
    ...at('passkeys', 'post', '/passkey/login'),
    title: 'Sign in with a passkey',
    notes: 'Takes an AuthenticationResponseJSON (WebAuthn Level 3).',
    access: 'anyone',
    query: signInQuery,
    body: authenticationResponse,
    response: tokenSet.or(cookieSignIn),
    errors: {
      invalid_grant: 'The response does not verify, or its challenge has expired or was already used.',
      unknown_credential: true,
      account_disabled: true,
      origin_not_allowed: true,
      rate_limited: true,
    },
  }),
  listPasskeys: define({
    ...at('passkeys', 'get', '/passkeys'),
    title: 'List passkeys',
    summary: "Lists the user's passkeys, newest first",
    access: 'bearer',
    response: model('PasskeyList', "The user's passkeys.", {
      passkeys: z.array(passkey).meta({ description: 'All passkeys, newest first.' }),
    }),
  }),
  renamePasskey: define({
    ...at('passkeys', 'patch', '/passkeys/{id}'),
    title: 'Rename a passkey',
    params: { id: passkeyId },
    access: 'bearer',
    body: z.object({
      name: described(visibleText(fieldLimits.passkeyName), 'Its name from now on.', 'Old laptop'),
      ...readOnlyMembers(passkey.omit({ name: true })),
    }),
    response: passkey,
    errors: { not_found: 'The user has no passkey with this id.', rate_limited: true },
  }),
  removePasskey: define({
    ...at('passkeys', 'delete', '/passkeys/{id}'),
    title: 'Remove a passkey',
    params: { id: passkeyId },
    notes: 'The last passkey can be removed too: the user can always sign in by email.',
    access: 'recent',
    status: 204,
    errors: { not_found: 'The user has no passkey with this id.' },
  }),
} as const;
