import { z } from 'zod';
import { fieldLimits } from './field-limits.ts';
import { readOnly, text, time, visibleText } from './fields.ts';

/** COSE algorithms in order of preference: EdDSA, ES256, RS256. */
export const passkeyAlgorithms = [-8, -7, -257] as const;

const publicKey = z.literal('public-key');

const credentialDescriptor = z.object({
  type: publicKey,
  id: z.string(),
  transports: z.array(z.string()).optional(),
});

/** @see WebAuthn Level 3 section 5.1.10 */
export const creationOptions = z
  .object({
    rp: z.object({ id: z.string(), name: z.string() }),
    user: z.object({
      id: z
        .string()
        .meta({ description: 'A random value that stays the same for the lifetime of the account.' }),
      name: z.string(),
      displayName: z.string(),
    }),
    challenge: z.string(),
    pubKeyCredParams: z.array(z.object({ type: publicKey, alg: z.int() })),
    timeout: z.int().meta({ description: 'In milliseconds.' }),
    excludeCredentials: z.array(credentialDescriptor),
    authenticatorSelection: z.object({
      residentKey: z.literal('required'),
      requireResidentKey: z.literal(true),
      userVerification: z.literal('required'),
    }),
    attestation: z.literal('none'),
  })
  .meta({ id: 'PublicKeyCredentialCreationOptionsJSON', description: 'WebAuthn Level 3 section 5.1.10' });
export type CreationOptions = z.infer<typeof creationOptions>;

/** @see WebAuthn Level 3 section 5.1.10 */
export const requestOptions = z
  .object({
    challenge: z.string(),
    timeout: z.int().meta({ description: 'In milliseconds.' }),
    rpId: z.string(),
    userVerification: z.literal('required'),
  })
  .meta({ id: 'PublicKeyCredentialRequestOptionsJSON', description: 'WebAuthn Level 3 section 5.1.10' });
export type RequestOptions = z.infer<typeof requestOptions>;

const credential = {
  id: text(fieldLimits.credentialId),
  rawId: text(fieldLimits.credentialId),
  type: publicKey,
  authenticatorAttachment: text(fieldLimits.transport).nullable().optional(),
  clientExtensionResults: z.looseObject({}).optional(),
};

/** The browser's response to the creation options. @see WebAuthn Level 3 section 5.1.8 */
export const registrationResponse = z
  .object({
    ...credential,
    response: z.object({
      clientDataJSON: text(fieldLimits.clientDataJson),
      attestationObject: text(fieldLimits.attestationObject),
      transports: z.array(text(fieldLimits.transport)).max(fieldLimits.transports).optional(),
    }),
    name: visibleText(fieldLimits.passkeyName)
      .optional()
      .meta({ description: "Defaults to the authenticator's product name." }),
  })
  .meta({ id: 'RegistrationResponseJSON', description: 'WebAuthn Level 3 section 5.1.8' });
export type RegistrationResponse = z.infer<typeof registrationResponse>;

/** The browser's response to the request options. @see WebAuthn Level 3 section 5.1.8 */
export const authenticationResponse = z
  .object({
    ...credential,
    response: z.object({
      clientDataJSON: text(fieldLimits.clientDataJson),
      authenticatorData: text(fieldLimits.authenticatorData),
      signature: text(fieldLimits.signature),
      userHandle: z.string().max(fieldLimits.userHandle).nullable().optional(),
    }),
  })
  .meta({ id: 'AuthenticationResponseJSON', description: 'WebAuthn Level 3 section 5.1.8' });
export type AuthenticationResponse = z.infer<typeof authenticationResponse>;

export const passkey = z
  .object({
    id: z.string(),
    credential_id: z.string(),
    name: z.string(),
    aaguid: z.string(),
    device_type: z.enum(['single_device', 'multi_device']),
    backed_up: z.boolean(),
    transports: z.array(z.string()),
    created_at: time,
    last_used_at: time.nullable(),
  })
  .meta({ id: 'Passkey' });
export type Passkey = z.infer<typeof passkey>;

export const passkeyList = z.object({ passkeys: z.array(passkey) }).meta({ id: 'PasskeyList' });

export const passkeyPatch = z.object({
  name: visibleText(fieldLimits.passkeyName),
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
export const passkeyEndpoints = z.object({ enroll: z.url(), manage: z.url() });

/** @see WebAuthn Level 3 section 5.11 */
export const relatedOriginList = z.object({ origins: z.array(z.url()) });
