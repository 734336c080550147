import { z } from 'zod';
import { fieldLimits } from './field-limits.ts';
import { notSupported, opaque, time, visibleText } from './fields.ts';
import { describedScope, resourceText, scopeText } from './scopes.ts';

const clientText = visibleText(fieldLimits.clientText).optional();

/** How a program describes itself. The user sees it as unverified text before approving. */
export const deviceAuthorizationRequest = z.object({
  client_id: clientText,
  client_name: clientText,
  device_name: clientText,
  scope: scopeText.optional(),
  resource: resourceText.optional(),
  authorization_details: notSupported,
});
export type DeviceAuthorizationRequest = z.infer<typeof deviceAuthorizationRequest>;

export const deviceAuthorization = z
  .object({
    device_code: z.string(),
    user_code: z.string(),
    verification_uri: z.url(),
    verification_uri_complete: z.url(),
    expires_in: z.int(),
    interval: z.int(),
  })
  .meta({ id: 'DeviceAuthorization', description: 'RFC 8628 section 3.2' });

export const userCodeRequest = z.object({ user_code: opaque(fieldLimits.userCode) });

export const pendingDevice = z
  .object({
    user_code: z.string(),
    client_name: z.string().nullable(),
    device_name: z.string().nullable(),
    ip_address: z.string().nullable(),
    user_agent: z.string().nullable(),
    requested_at: time,
    expires_in: z.int(),
    same_network: z.boolean(),
    scope: z.string().meta({ description: 'What the device asks to do. `*` is everything the user may do.' }),
    scopes: z.array(describedScope).meta({ description: 'The scopes in words.' }),
    resource: z.string().nullable().meta({ description: 'The only service that would accept the tokens.' }),
    resource_service: z
      .string()
      .nullable()
      .meta({ description: 'The name of the service that declares the resource.' }),
    session_id: z.string().nullable().meta({
      description:
        'The id of the session that an approval will start, once the device collects its tokens. Null if the device started with an earlier release of the service.',
    }),
  })
  .meta({
    id: 'PendingDevice',
    description: 'A device that is waiting for approval. Names come from the device and are unverified.',
  });
export type PendingDevice = z.infer<typeof pendingDevice>;
