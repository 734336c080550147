import { z } from 'zod';
import { examples } from './examples.ts';
import { fieldLimits } from './field-limits.ts';
import { readOnly, said, shown, text, time, visibleText } from './fields.ts';

/** COSE algorithms in order of preference: EdDSA, ES256, RS256. */
export const passkeyAlgorithms = [-8, -7, -257] as const;

const publicKey = z.literal('public-key').meta({ description: 'Always `public-key`.' });

const transportNames = 'How the browser can reach the authenticator.';

const challenge = shown('Random bytes to sign, in base64url. Works once.', examples.challenge);

const timeout = z.int().meta(said('How long to wait for the user, in milliseconds.', 300_000));

const credentialDescriptor = z.object({
  type: publicKey,
  id: shown('The credential id, in base64url.', examples.credentialId),
  transports: z
    .array(z.string())
    .optional()
    .meta(said(transportNames, ['internal', 'hybrid'])),
});

/** @see WebAuthn Level 3 section 5.1.10 */
export const creationOptions = z
  .object({
    rp: z
      .object({
        id: shown('The domain of the passkey.', 'login.example'),
        name: shown('The name of the service.', 'Latchkey'),
      })
      .meta({ description: 'The relying party: this service.' }),
    user: z
      .object({
        id: shown('A random value that stays the same for the lifetime of the account.', 'dXNlci1oYW5kbGU'),
        name: shown("The account's email address.", examples.email),
        displayName: shown("The user's name, or else the address.", 'Ada Lovelace'),
      })
      .meta({ description: 'The account, as the browser shows it.' }),
    challenge,
    pubKeyCredParams: z
      .array(
        z.object({
          type: publicKey,
          alg: z.int().meta(said('A COSE algorithm.', passkeyAlgorithms[0])),
        }),
      )
      .meta({ description: 'The algorithms that are accepted, best first.' }),
    timeout,
    excludeCredentials: z
      .array(credentialDescriptor)
      .meta({ description: 'The passkeys that the account has already.' }),
    authenticatorSelection: z
      .object({
        residentKey: z
          .literal('required')
          .meta({ description: 'The passkey must work without an email address.' }),
        requireResidentKey: z.literal(true).meta({ description: 'The same, for older browsers.' }),
        userVerification: z.literal('required').meta({ description: 'The user must unlock the passkey.' }),
      })
      .meta({ description: 'What the passkey must be able to do.' }),
    attestation: z.literal('none').meta({ description: 'No proof of the make is asked for.' }),
  })
  .meta({ id: 'PublicKeyCredentialCreationOptionsJSON', description: 'WebAuthn Level 3 section 5.1.10' });
export type CreationOptions = z.infer<typeof creationOptions>;

/** @see WebAuthn Level 3 section 5.1.10 */
export const requestOptions = z
  .object({
    challenge,
    timeout,
    rpId: shown('The domain of the passkey.', 'login.example'),
    userVerification: z.literal('required').meta({ description: 'The user must unlock the passkey.' }),
  })
  .meta({ id: 'PublicKeyCredentialRequestOptionsJSON', description: 'WebAuthn Level 3 section 5.1.10' });
export type RequestOptions = z.infer<typeof requestOptions>;

const clientDataJSON = text(fieldLimits.clientDataJson).meta(
  said('What the browser says about the request, in base64url.', examples.clientDataJson),
);

const credential = {
  id: text(fieldLimits.credentialId).meta(said('The credential id, in base64url.', examples.credentialId)),
  rawId: text(fieldLimits.credentialId).meta(said('The same as id.', examples.credentialId)),
  type: publicKey,
  authenticatorAttachment: text(fieldLimits.transport)
    .nullable()
    .optional()
    .meta(said('Whether the authenticator is part of the device.', 'platform')),
  clientExtensionResults: z
    .looseObject({})
    .optional()
    .meta({ description: 'The results of extensions. None are used.', examples: [{}] }),
};

/** The browser's response to the creation options. @see WebAuthn Level 3 section 5.1.8 */
export const registrationResponse = z
  .object({
    ...credential,
    response: z
      .object({
        clientDataJSON,
        attestationObject: text(fieldLimits.attestationObject).meta(
          said('The new public key and its attestation, in base64url.', 'o2NmbXRkbm9uZWdhdHRTdG10oA'),
        ),
        transports: z
          .array(text(fieldLimits.transport))
          .max(fieldLimits.transports)
          .optional()
          .meta(said(transportNames, ['internal', 'hybrid'])),
      })
      .meta({ description: 'What the authenticator made.' }),
    name: visibleText(fieldLimits.passkeyName)
      .optional()
      .meta(
        said("What the user calls the passkey. Default: the authenticator's product name.", 'Work laptop'),
      ),
  })
  .meta({ id: 'RegistrationResponseJSON', description: 'WebAuthn Level 3 section 5.1.8' });
export type RegistrationResponse = z.infer<typeof registrationResponse>;

/** The browser's response to the request options. @see WebAuthn Level 3 section 5.1.8 */
export const authenticationResponse = z
  .object({
    ...credential,
    response: z
      .object({
        clientDataJSON,
        authenticatorData: text(fieldLimits.authenticatorData).meta(
          said(
            'What the authenticator says about itself, in base64url.',
            'SZYN5YgOjGh0NBcPZHZgW4_krrmihjLHmVzzuoMdl2MFAAAAAQ',
          ),
        ),
        signature: text(fieldLimits.signature).meta(
          said('The signature over both, in base64url.', 'MEUCIQDx3vK8Wn0q'),
        ),
        userHandle: z
          .string()
          .max(fieldLimits.userHandle)
          .nullable()
          .optional()
          .meta(said('The user id that the passkey was created with.', 'dXNlci1oYW5kbGU')),
      })
      .meta({ description: 'What the authenticator signed.' }),
  })
  .meta({ id: 'AuthenticationResponseJSON', description: 'WebAuthn Level 3 section 5.1.8' });
export type AuthenticationResponse = z.infer<typeof authenticationResponse>;

export const passkeyId = shown('The id of the passkey.', examples.passkeyId);

export const passkey = z
  .object({
    id: passkeyId,
    credential_id: shown('Its WebAuthn credential id, in base64url.', examples.credentialId),
    name: shown('What the user calls it.', 'Work laptop'),
    aaguid: shown(
      'The make of the authenticator. All zeros if it does not say.',
      'ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4',
    ),
    device_type: z
      .enum(['single_device', 'multi_device'])
      .meta(
        said('Whether the passkey stays on one device or can be synchronized to others.', 'multi_device'),
      ),
    backed_up: z.boolean().meta(said('Whether it was backed up at its last use.', true)),
    transports: z.array(z.string()).meta(said(transportNames, ['internal', 'hybrid'])),
    created_at: time.meta({ description: 'When it was registered.' }),
    last_used_at: time
      .nullable()
      .meta({ description: 'When it was last used to sign in. Null until its first use.' }),
  })
  .meta({ id: 'Passkey', description: "One of the user's passkeys." });
export type Passkey = z.infer<typeof passkey>;

export const passkeyList = z
  .object({ passkeys: z.array(passkey).meta({ description: 'All passkeys, newest first.' }) })
  .meta({ id: 'PasskeyList', description: "The user's passkeys." });

export const passkeyPatch = z.object({
  name: visibleText(fieldLimits.passkeyName).meta(
    said('What the user calls the passkey from now on.', 'Old laptop'),
  ),
  id: readOnly,
  credential_id: readOnly,
  aaguid: readOnly,
  device_type: readOnly,
  backed_up: readOnly,
  transports: readOnly,
  created_at: readOnly,
  last_used_at: readOnly,
});

/** @see W3C A Well-Known URL for Relying Party Passkey Endpoints, section 2 */
export const passkeyEndpoints = z.object({
  enroll: z.url().meta(said('The page where users add a passkey.', 'https://login.example/account#security')),
  manage: z
    .url()
    .meta(said('The page where users manage their passkeys.', 'https://login.example/account#security')),
});

/** @see WebAuthn Level 3 section 5.11 */
export const relatedOriginList = z.object({
  origins: z.array(z.url()).meta(said('The origins that may use the passkeys.', ['https://login.example'])),
});
