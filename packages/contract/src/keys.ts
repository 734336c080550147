import { z } from 'zod';
import { authorizationDetails } from './authorization-details.ts';
import { fieldLimits } from './field-limits.ts';
import { nextCursor, time, visibleText } from './fields.ts';
import { describedScope, resourceText, scopeText } from './scopes.ts';

const lifetime = z.int().min(fieldLimits.keyMinSeconds).max(fieldLimits.keyMaxSeconds);

export const newKey = z.object({
  name: visibleText(fieldLimits.keyName).meta({ description: 'Shown to the user, to tell keys apart.' }),
  scope: scopeText.meta({ examples: ['profile email'] }),
  resource: resourceText.optional(),
  // Anything else than such an array is `invalid_authorization_details`, not `invalid_request`.
  authorization_details: z
    .unknown()
    .optional()
    .meta({
      type: 'array',
      items: { type: 'object', properties: { type: { type: 'string' } }, required: ['type'] },
      description: `What the key allows in detail, in terms of the services that read it (RFC 9396). At most ${fieldLimits.authorizationDetailsBytes} bytes of JSON.`,
    }),
  expires_in: lifetime.meta({
    description: `Lifetime in seconds: ${fieldLimits.keyMinSeconds} to ${fieldLimits.keyMaxSeconds}.`,
    examples: [2_592_000],
  }),
});
export type NewKey = z.infer<typeof newKey>;

const keyMembers = {
  id: z.string(),
  name: z.string(),
  scope: z.string().meta({ description: 'What the key allows. `*` is everything the user may do.' }),
  resource: z.string().nullable().meta({ description: 'The only service that accepts the key, if any.' }),
  authorization_details: authorizationDetails.optional(),
  created_at: time,
  expires_at: time,
  last_used_at: time.nullable().meta({ description: 'Null until its first use. At most five minutes old.' }),
};

export const key = z.object(keyMembers).meta({ id: 'Key', description: 'A key, without its secret.' });
export type Key = z.infer<typeof key>;

export const createdKey = z
  .object({ ...keyMembers, key: z.string().meta({ description: 'The key itself. Only shown this once.' }) })
  .meta({ id: 'CreatedKey' });
export type CreatedKey = z.infer<typeof createdKey>;

export const keyList = z.object({ keys: z.array(key), next_cursor: nextCursor }).meta({ id: 'KeyList' });

/** Everything that a client can ask for. */
export const scopeList = z
  .object({
    scopes: z.array(describedScope),
    resources: z.array(
      z.object({
        resource: z.string().meta({ description: 'A URI (RFC 8707).' }),
        service: z.string().meta({ description: 'The name of the service that declared it.' }),
      }),
    ),
  })
  .meta({ id: 'ScopeList' });
export type ScopeList = z.infer<typeof scopeList>;
