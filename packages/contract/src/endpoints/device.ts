import {
  deviceApproval,
  deviceAuthorization,
  deviceAuthorizationForm,
  deviceAuthorizationRequest,
  deviceConfirmation,
  pendingDevice,
  userCodeRequest,
} from '../device.ts';
import { at, define } from '../endpoint.ts';
import { refusedTouch } from '../passkeys.ts';

/** What a person does about a user code. */
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
    summary: 'Approves a pending device sign-in',
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
    summary: 'Denies a pending device sign-in',
    notes: 'The decision is final.',
    access: 'browser',
    status: 204,
  }),
} as const;
