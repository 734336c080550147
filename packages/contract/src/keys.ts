import { z } from 'zod';
import { at, define, ownList } from './endpoint.ts';
import { examples } from './examples.ts';
import { fieldLimits } from './field-limits.ts';
import { described, model, pageOf, shown, shownOrNull, text, time, visibleText } from './fields.ts';
import { refusedTouch, touch, touchOptions } from './passkeys.ts';
import { authorizationDetails, describedScope, resourceText, scopeText } from './scopes.ts';

const lifetime = z.int().min(fieldLimits.keyMinSeconds).max(fieldLimits.keyMaxSeconds);

const claimText = text(fieldLimits.trustClaim);

/** The library would leave this name out, and the key would trust more tokens than its owner said. */
const refusePrototype = (claims: unknown): unknown =>
  typeof claims === 'object' && claims !== null && Object.hasOwn(claims, '__proto__') ? undefined : claims;

/** Whose tokens can be exchanged for runs within a key. */
const keyTrust = model('KeyTrust', 'The tokens that stand for a key without a secret.', {
  issuer: described(text(fieldLimits.issuer), 'One of the issuers that the operator lists.', examples.issuer),
  claims: described(
    z.preprocess(refusePrototype, z.record(claimText, claimText)),
    `Claims that a token must have, by name: up to ${fieldLimits.trustClaims}, compared whole.`,
    examples.trustedClaims,
  ),
});
export type KeyTrust = z.infer<typeof keyTrust>;

export const newKey = z.object({
  name: described(visibleText(fieldLimits.keyName), 'Shown to the user. Tells keys apart.', 'Nightly build'),
  scope: scopeText.meta({ examples: ['profile email'] }),
  resource: resourceText.optional(),
  // Anything else than such an array is `invalid_authorization_details`, not `invalid_request`.
  authorization_details: z
    .unknown()
    .optional()
    .meta({
      type: 'array',
      items: {
        type: 'object',
        properties: {
          type: {
            type: 'string',
            description: 'The type. It decides what other members mean.',
            examples: ['project_access'],
          },
        },
        required: ['type'],
      },
      examples: [[{ type: 'project_access', projects: ['engine'] }]],
      description: `What the key allows in detail, in terms of the services that read it (RFC 9396). At most ${fieldLimits.authorizationDetailsBytes} bytes of JSON.`,
    }),
  expires_in: described(lifetime, 'Lifetime in seconds.', 2_592_000),
  trust: keyTrust.optional(),
  passkey: touch,
});
export type NewKey = z.infer<typeof newKey>;

export const keyId = shown('The id of the key.', examples.keyId);

export const key = model('Key', 'A key, without its secret.', {
  id: keyId,
  name: shown('The name that the user chose.', 'Nightly build'),
  scope: shown('What the key allows. `*` is everything the user may do.', 'profile email'),
  resource: shownOrNull('The only service that accepts the key. Null if any does.', examples.resource),
  authorization_details: authorizationDetails.optional(),
  trust: keyTrust.optional(),
  created_at: described(time, 'When the key was created.'),
  expires_at: described(time, 'When the key expires.', '2026-02-14T09:30:00.000Z'),
  last_used_at: described(
    time.nullable(),
    'When the key was last used, up to five minutes late. Null until its first use.',
    '2026-01-16T03:00:02.481Z',
  ),
});
export type Key = z.infer<typeof key>;

export const createdKey = model('CreatedKey', 'A key, with its secret if it has one.', {
  ...key.shape,
  last_used_at: key.shape.last_used_at.meta({ examples: [null] }),
  key: shown(
    'The key itself. Only shown this once. Omitted for a key with trust, which has no secret.',
    examples.key,
  ).optional(),
});
export type CreatedKey = z.infer<typeof createdKey>;

/** Everything that a client can ask for. */
const scopeList = model('ScopeList', 'What a token, a key or a device can be limited to.', {
  scopes: described(z.array(describedScope), 'The scopes that a token can have.'),
  resources: described(
    z.array(
      z.object({
        resource: shown('A URI (RFC 8707).', examples.resource),
        service: shown('The name of the service that declared it.', 'Projects'),
      }),
    ),
    'The resources that a token can be bound to.',
  ),
});
export type ScopeList = z.infer<typeof scopeList>;

const aboutNewKey = {
  access: 'browser',
  body: newKey,
  errors: {
    invalid_scope: 'No service declares one of the scopes.',
    invalid_target: 'No service declares the resource.',
    invalid_authorization_details: 'It is not an array of objects with a type, or too large.',
  },
} as const;

export const keyEndpoints = {
  challengeKey: define({
    ...aboutNewKey,
    ...at('keys', 'post', '/keys/challenge'),
    title: 'Get the passkey options for a key',
    summary: 'Returns the options to confirm a new key with a passkey',
    notes: 'Creates nothing. The response to the options is good for a key with the same body, once.',
    response: model('KeyChallenge', 'What creating a key takes.', { passkey: touchOptions }),
  }),
  createKey: define({
    ...aboutNewKey,
    ...at('keys', 'post', '/keys'),
    title: 'Create a key',
    summary: 'Creates a key: a long-lived credential for a program without a user',
    notes:
      'Send the key wherever an access token goes. It allows what its scope says, on the service of its resource if it has one, and never counts as a recent sign-in. It cannot be refreshed. An email announces the end of a key of more than 14 days, 7 days before it. The response is the only time it is shown. If the account has a passkey, it has to confirm the key; otherwise the user must have signed in recently.',
    status: 201,
    response: createdKey,
    errors: {
      ...aboutNewKey.errors,
      invalid_grant: refusedTouch,
      rate_limited: true,
      conflict: 'The account has reached its limit of active keys.',
    },
  }),
  listKeys: define({
    ...ownList,
    ...at('keys', 'get', '/keys'),
    title: 'List keys',
    summary: "Lists the user's active keys without their secrets, newest first",
    response: pageOf('KeyList', "A page of the user's active keys.", {
      keys: described(z.array(key), 'The keys, newest first.'),
    }),
  }),
  removeKey: define({
    ...at('keys', 'delete', '/keys/{id}'),
    title: 'Remove a key',
    params: { id: keyId },
    access: 'bearer',
    status: 204,
    errors: { not_found: 'The user has no active key with this id.', rate_limited: true },
  }),
  listScopes: define({
    ...at('keys', 'get', '/scopes'),
    title: 'List scopes and resources',
    summary: 'Lists the scopes and resources that can be asked for',
    access: 'bearer',
    response: scopeList,
  }),
} as const;
