import { z } from 'zod';
import { examples } from './examples.ts';
import { fieldLimits } from './field-limits.ts';
import {
  clientName,
  deviceName,
  expiresIn,
  ipAddress,
  notSupported,
  opaque,
  time,
  userAgent,
  visibleText,
} from './fields.ts';
import { describedScope, resourceText, scopeText } from './scopes.ts';

const clientText = visibleText(fieldLimits.clientText).optional();

/** How a program describes itself. The user sees it as unverified text before approving. */
export const deviceAuthorizationRequest = z
  .object({
    client_id: clientText.meta({
      description: 'The client id of a standard OAuth client. Shown if there is no client_name. Not checked.',
      examples: ['example-cli'],
    }),
    client_name: clientText.meta({
      description: 'The name of the program. The user sees it before approving, marked as unverified.',
      examples: ['Example CLI'],
    }),
    device_name: clientText.meta({
      description: 'The name of the device. The user sees it before approving, marked as unverified.',
      examples: ['den'],
    }),
    scope: scopeText.optional(),
    resource: resourceText.optional(),
    authorization_details: notSupported,
    confirmation: z
      .union([z.boolean(), z.enum(['true', 'false'])])
      .optional()
      .meta({
        description:
          'Whether the program can ask its user for a code that the page shows after the approval.',
        examples: [true],
      }),
  })
  .meta({ examples: [{ client_name: 'Example CLI', device_name: 'den' }] });
export type DeviceAuthorizationRequest = z.infer<typeof deviceAuthorizationRequest>;

export const deviceAuthorization = z
  .object({
    device_code: z.string().meta({
      description: 'A secret of the device, to poll for the tokens with. Do not show it.',
      examples: [examples.deviceCode],
    }),
    user_code: z.string().meta({
      description: 'The code that the user enters. Case, spaces and hyphens do not matter.',
      examples: [examples.userCode],
    }),
    verification_uri: z.url().meta({
      description: 'The page where the user enters the code.',
      examples: ['https://login.example/device'],
    }),
    verification_uri_complete: z.url().meta({
      description: 'The same page with the code filled in, for a link or a QR code.',
      examples: [`https://login.example/device?user_code=${examples.userCode}`],
    }),
    expires_in: expiresIn('both codes', 600),
    interval: z.int().meta({ description: 'Seconds to wait between two polls.', examples: [5] }),
  })
  .meta({ id: 'DeviceAuthorization', description: 'RFC 8628 section 3.2' });

export const userCodeRequest = z.object({
  user_code: opaque(fieldLimits.userCode).meta({
    description: 'The code that the device shows. Case, spaces and hyphens do not matter.',
    examples: [examples.userCode],
  }),
});

export const pendingDevice = z
  .object({
    user_code: z
      .string()
      .meta({ description: 'The user code, in its usual form.', examples: [examples.userCode] }),
    client_name: clientName,
    device_name: deviceName,
    ip_address: ipAddress,
    user_agent: userAgent,
    requested_at: time.meta({ description: 'When the device asked to sign in.' }),
    expires_in: expiresIn('the code', 540),
    same_network: z.boolean().meta({
      description: 'Whether the device asked from the network that this request comes from.',
      examples: [true],
    }),
    confirmation: z.enum(['none', 'required', 'impossible']).meta({
      description:
        'Whether the user has to enter a code on the device after approving it, because the device is in another network. `impossible` if the program cannot ask for it: approve from the network of the device.',
      examples: ['none'],
    }),
    scope: z.string().meta({
      description: 'What the device asks to do. `*` is everything the user may do.',
      examples: ['profile email'],
    }),
    scopes: z.array(describedScope).meta({ description: 'The scopes in words.' }),
    resource: z
      .string()
      .nullable()
      .meta({
        description: 'The only service that would accept the tokens. Null if any would.',
        examples: [examples.resource],
      }),
    resource_service: z
      .string()
      .nullable()
      .meta({
        description: 'The name of the service that declares the resource. Null without a resource.',
        examples: ['Projects'],
      }),
    session_id: z.string().meta({
      examples: [examples.sessionId],
      description: 'The id of the session that an approval will start, once the device collects its tokens.',
    }),
  })
  .meta({
    id: 'PendingDevice',
    description: 'A device that is waiting for approval. Names come from the device and are unverified.',
  });
export const deviceConfirmation = z
  .object({
    confirmation_code: z.string().meta({
      description: 'Six digits that the user enters on the device. Shown this once.',
      examples: ['123456'],
    }),
  })
  .meta({ id: 'DeviceConfirmation', description: 'The code that confirms an approval on the device.' });
export type DeviceConfirmation = z.infer<typeof deviceConfirmation>;

export type PendingDevice = z.infer<typeof pendingDevice>;
