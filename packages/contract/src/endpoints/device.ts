import {
  deviceAuthorization,
  deviceAuthorizationRequest,
  deviceConfirmation,
  pendingDevice,
  userCodeRequest,
} from '../device.ts';
import { auth, define } from '../endpoint.ts';

/** What a person does about a user code. */
const aboutUserCode = { group: 'device', method: 'post', body: userCodeRequest } as const;
const undecided = { invalid_grant: 'The user code is unknown, expired or already decided.' } as const;

export const deviceEndpoints = {
  startDeviceAuthorization: define({
    title: 'Start a device sign-in',
    group: 'device',
    method: 'post',
    path: `${auth}/device`,
    summary: 'Starts a device sign-in and returns its device code and user code',
    notes:
      'The device polls for tokens with the device code while the user enters the user code in a browser. See RFC 8628 section 3.1.',
    access: 'anyone',
    body: deviceAuthorizationRequest,
    bodyOptional: true,
    form: deviceAuthorizationRequest,
    response: deviceAuthorization,
    errors: ['invalid_request', 'invalid_scope', 'invalid_target', 'unauthorized_client', 'rate_limited'],
    errorMeanings: {
      unauthorized_client: 'Device sign-ins are turned off.',
      invalid_scope: 'No service declares one of the scopes.',
      invalid_target: 'No service declares the resource.',
    },
  }),
  verifyDevice: define({
    ...aboutUserCode,
    title: 'Look up a user code',
    path: `${auth}/device/verify`,
    summary: 'Returns the details of a pending device sign-in',
    notes: 'Does not approve, deny or otherwise change it.',
    access: 'browser',
    response: pendingDevice,
    errors: ['invalid_request', 'invalid_grant', 'rate_limited'],
    errorMeanings: undecided,
  }),
  approveDevice: define({
    ...aboutUserCode,
    title: 'Approve a device',
    path: `${auth}/device/approve`,
    summary: 'Approves a pending device sign-in',
    notes:
      'The decision is final. Where a confirmation is required, the response has the code that the user enters on the device; otherwise it is empty.',
    access: 'recent',
    emptyStatus: 204,
    response: deviceConfirmation,
    errors: [
      'invalid_request',
      'invalid_grant',
      'invalid_scope',
      'invalid_target',
      'rate_limited',
      'access_denied',
    ],
    errorMeanings: {
      access_denied:
        'The device cannot be approved from this network, because its program cannot ask for a code.',
      ...undecided,
      invalid_scope: 'A scope that the device asked for has been withdrawn.',
      invalid_target: 'The resource that the device asked for has been withdrawn.',
    },
  }),
  denyDevice: define({
    ...aboutUserCode,
    title: 'Deny a device',
    path: `${auth}/device/deny`,
    summary: 'Denies a pending device sign-in',
    notes: 'The decision is final.',
    access: 'browser',
    status: 204,
    errors: ['invalid_request', 'invalid_grant', 'rate_limited'],
    errorMeanings: undecided,
  }),
} as const;
