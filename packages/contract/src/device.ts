import { z } from 'zod';
import { at, define } from './endpoint.ts';
import { examples } from './examples.ts';
import { fieldLimits } from './field-limits.ts';
import {
  clientName,
  described,
  deviceName,
  expiresIn,
  flag,
  int,
  ipAddress,
  model,
  notSupported,
  opaque,
  shown,
  time,
  url,
  userAgent,
  visibleText,
} from './fields.ts';
import { refusedTouch, touch, touchOptions } from './passkeys.ts';
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
const deviceAuthorizationForm = z
  .object({
    ...requestMembers,
    confirmation: described(z.enum(['true', 'false']).optional(), canConfirm, 'true'),
  })
  .meta(deviceExample);
export type DeviceAuthorizationRequest = z.infer<
  typeof deviceAuthorizationRequest | typeof deviceAuthorizationForm
>;

export const deviceAuthorization = model('DeviceAuthorization', 'RFC 8628 section 3.2', {
  device_code: shown('A secret of the device, to poll for tokens. Do not show it.', examples.deviceCode),
  user_code: shown('The code that the user enters. Case, spaces and hyphens are ignored.', examples.userCode),
  verification_uri: url('The page where the user enters the code.', 'https://login.example/device'),
  verification_uri_complete: url(
    'The same page with the code filled in, for a link or a QR code.',
    `https://login.example/device?user_code=${examples.userCode}`,
  ),
  expires_in: expiresIn('each code', 600),
  interval: int('Seconds to wait between two polls.', 5),
});

const userCodeRequest = z.object({
  user_code: described(
    opaque(fieldLimits.userCode),
    'The code that the device shows. Case, spaces and hyphens do not matter.',
    examples.userCode,
  ),
});

const deviceApproval = userCodeRequest.extend({ passkey: touch });
export type DeviceApproval = z.infer<typeof deviceApproval>;

export const pendingDevice = model('PendingDevice', 'A device that is waiting for approval.', {
  user_code: shown('The user code, in its usual form.', examples.userCode),
  client_name: clientName,
  device_name: deviceName,
  ip_address: ipAddress,
  user_agent: userAgent,
  requested_at: time.meta({ description: 'When the device asked to sign in.' }),
  expires_in: expiresIn('the code', 540),
  same_network: flag('Whether the device asked from the network that this request comes from.', true),
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
});
const deviceConfirmation = model('DeviceConfirmation', 'The code that confirms an approval on the device.', {
  confirmation_code: shown('Six digits that the user enters on the device. Shown this once.', '123456'),
});
export type DeviceConfirmation = z.infer<typeof deviceConfirmation>;

export type PendingDevice = z.infer<typeof pendingDevice>;

const aboutUserCode = {
  body: userCodeRequest,
  errors: { invalid_grant: 'The user code is unknown, expired or already decided.', rate_limited: true },
} as const;

export const deviceEndpoints = {
  startDeviceAuthorization: define({
    ...at('device', 'post', '/device'),
    title: 'Start a device sign-in',
    summary: 'Starts a device sign-in and returns its device code and user code',
    notes:
      'The device polls for tokens with the device code while the user enters the user code in a browser. See RFC 8628 section 3.1.',
    access: 'anyone',
    body: deviceAuthorizationRequest,
    bodyOptional: true,
    form: deviceAuthorizationForm,
    response: deviceAuthorization,
    errors: {
      invalid_scope: 'No service declares one of the scopes.',
      invalid_target: 'No service declares the resource.',
      unauthorized_client: 'Device sign-ins are turned off.',
      rate_limited: true,
    },
  }),
  verifyDevice: define({
    ...aboutUserCode,
    ...at('device', 'post', '/device/verify'),
    title: 'Look up a user code',
    summary: 'Returns the details of a pending device sign-in',
    notes: 'Does not approve, deny or otherwise change it.',
    access: 'browser',
    response: pendingDevice,
  }),
  approveDevice: define({
    ...aboutUserCode,
    ...at('device', 'post', '/device/approve'),
    title: 'Approve a device',
    notes:
      'The decision is final. Where a confirmation is required, the response has the code that the user enters on the device; otherwise it is empty. If the account has a passkey, it has to confirm the approval; otherwise the user must have signed in recently.',
    access: 'browser',
    body: deviceApproval,
    emptyStatus: 204,
    response: deviceConfirmation,
    errors: {
      ...aboutUserCode.errors,
      invalid_grant: `${aboutUserCode.errors.invalid_grant} ${refusedTouch}`,
      invalid_scope: 'A scope that the device asked for has been withdrawn.',
      invalid_target: 'The resource that the device asked for has been withdrawn.',
      access_denied:
        'The device cannot be approved from this network, because its program cannot ask for a code.',
    },
  }),
  denyDevice: define({
    ...aboutUserCode,
    ...at('device', 'post', '/device/deny'),
    title: 'Deny a device',
    notes: 'The decision is final.',
    access: 'browser',
    status: 204,
  }),
} as const;
