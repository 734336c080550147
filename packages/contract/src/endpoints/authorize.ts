import {
  authorizationParameters,
  authorizationResponse,
  clientErrors,
  pendingAuthorization,
} from '../authorize.ts';
import { auth, define } from '../endpoint.ts';

const errorMeanings = {
  invalid_request:
    'A parameter is missing, duplicate or wrong. Without `redirect` or `form_post` beside it, the client or its redirect URI is unknown: show the error.',
  invalid_scope: 'A scope is unknown, or not for this client.',
  invalid_target: 'No service declares the resource.',
} as const;

const shared = {
  group: 'authorization',
  method: 'post',
  access: 'browser',
  ownOriginOnly: true,
  body: authorizationParameters,
  errors: [...clientErrors, 'rate_limited'],
  errorMeanings,
} as const;

const notes =
  'The body has the parameters of the request. With `redirect` or `form_post` beside it, an error belongs to the client: send the user there. A cookie is accepted only from pages of this service.';

export const authorizeEndpoints = {
  verifyAuthorization: define({
    ...shared,
    title: 'Look up an authorization request',
    path: `${auth}/authorize/verify`,
    summary: 'Returns what an authorization request asks for',
    notes: `Nothing is approved. ${notes}`,
    response: pendingAuthorization,
  }),
  approveAuthorization: define({
    ...shared,
    title: 'Approve an authorization request',
    path: `${auth}/authorize/approve`,
    summary: 'Approves an authorization request and returns the response for the client',
    notes: `${notes} Its \`scope\` is the one that was looked up. The user must have signed in recently unless the approval is \`given\`.`,
    response: authorizationResponse,
  }),
  denyAuthorization: define({
    ...shared,
    title: 'Deny an authorization request',
    path: `${auth}/authorize/deny`,
    summary: 'Denies an authorization request and returns the response for the client',
    notes,
    response: authorizationResponse,
  }),
} as const;
