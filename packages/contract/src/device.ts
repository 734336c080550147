import { z } from 'zod';
import { examples } from './examples.ts';
import { fieldLimits } from './field-limits.ts';
import {
  clientName,
  described,
  deviceName,
  expiresIn,
  ipAddress,
  model,
  notSupported,
  opaque,
  shown,
  time,
  userAgent,
  visibleText,
} from './fields.ts';
import { touch, touchOptions } from './passkeys.ts';
import { requestedAccess, resourceText, scopeText } from './scopes.ts';

const clientText = visibleText(fieldLimits.clientText).optional();

/** How a program describes itself. The user sees it as unverified text before approving. */
const requestMembers = {
  client_id: described(
    clientText,
    'The client id of a standard OAuth client. Shown if there is no client_name. Not checked.',
    'example-cli',
  ),
  client_name: described(
    clientText,
    'The name of the program. The user sees it before approving, marked as unverified.',
    'Example CLI',
  ),
  device_name: described(
    clientText,
    'The name of the device. The user sees it before approving, marked as unverified.',
    'den',
  ),
  scope: scopeText.optional(),
  resource: resourceText.optional(),
  authorization_details: notSupported,
};

const canConfirm = 'Whether the program can ask its user for a code that the page shows after the approval.';
const deviceExample = { examples: [{ client_name: 'Example CLI', device_name: 'den' }] };

export const deviceAuthorizationRequest = z
  .object({ ...requestMembers, confirmation: described(z.boolean().optional(), canConfirm, true) })
  .meta(deviceExample);

/** A form has only text. */
export const deviceAuthorizationForm = z
  .object({
    ...requestMembers,
    confirmation: described(z.enum(['true', 'false']).optional(), canConfirm, 'true'),
  })
  .meta(deviceExample);
export type DeviceAuthorizationRequest = z.infer<
  typeof deviceAuthorizationRequest | typeof deviceAuthorizationForm
>;

export const deviceAuthorization = model('DeviceAuthorization', 'RFC 8628 section 3.2', {
  device_code: shown(
    'A secret of the device, to poll for the tokens with. Do not show it.',
    examples.deviceCode,
  ),
  user_code: shown(
    'The code that the user enters. Case, spaces and hyphens do not matter.',
    examples.userCode,
  ),
  verification_uri: described(
    z.url(),
    'The page where the user enters the code.',
    'https://login.example/device',
  ),
  verification_uri_complete: described(
    z.url(),
    'The same page with the code filled in, for a link or a QR code.',
    `https://login.example/device?user_code=${examples.userCode}`,
  ),
  expires_in: expiresIn('both codes', 600),
  interval: described(z.int(), 'Seconds to wait between two polls.', 5),
});

export const userCodeRequest = z.object({
  user_code: described(
    opaque(fieldLimits.userCode),
    'The code that the device shows. Case, spaces and hyphens do not matter.',
    examples.userCode,
  ),
});

export const deviceApproval = userCodeRequest.extend({ passkey: touch });
export type DeviceApproval = z.infer<typeof deviceApproval>;

export const pendingDevice = model(
  'PendingDevice',
  'A device that is waiting for approval. Names come from the device and are unverified.',
  {
    user_code: shown('The user code, in its usual form.', examples.userCode),
    client_name: clientName,
    device_name: deviceName,
    ip_address: ipAddress,
    user_agent: userAgent,
    requested_at: time.meta({ description: 'When the device asked to sign in.' }),
    expires_in: expiresIn('the code', 540),
    same_network: described(
      z.boolean(),
      'Whether the device asked from the network that this request comes from.',
      true,
    ),
    confirmation: described(
      z.enum(['none', 'required', 'impossible']),
      'Whether the user has to enter a code on the device after approving it, because the device is in another network. `impossible` if the program cannot ask for it: approve from the network of the device.',
      'none',
    ),
    ...requestedAccess,
    session_id: shown(
      'The id of the session that an approval will start, once the device collects its tokens.',
      examples.sessionId,
    ),
    passkey: touchOptions,
  },
);
export const deviceConfirmation = model(
  'DeviceConfirmation',
  'The code that confirms an approval on the device.',
  {
    confirmation_code: shown('Six digits that the user enters on the device. Shown this once.', '123456'),
  },
);
export type DeviceConfirmation = z.infer<typeof deviceConfirmation>;

export type PendingDevice = z.infer<typeof pendingDevice>;
