import { authorizationParameters, authorizationResponse, pendingAuthorization } from '../authorize.ts';
import { auth, define } from '../endpoint.ts';

const errors = [
  'invalid_request',
  'invalid_scope',
  'invalid_target',
  'unsupported_response_type',
  'request_not_supported',
  'request_uri_not_supported',
  'interaction_required',
  'login_required',
  'rate_limited',
] as const;

const errorMeanings = {
  invalid_request:
    'A parameter is missing, duplicate or wrong. Without `redirect` or `form_post` beside it, the client or its redirect URI is unknown: show the error.',
  invalid_scope: 'A scope is unknown, or not for this client.',
  invalid_target: 'No service declares the resource.',
} as const;

const notes =
  'With `redirect` or `form_post` beside it, an error belongs to the client: send the user there. A cookie is accepted only from pages of this service.';

export const authorizeEndpoints = {
  verifyAuthorization: define({
    id: 'verifyAuthorization',
    title: 'Look up an authorization request',
    group: 'authorization',
    method: 'post',
    path: `${auth}/authorize/verify`,
    summary: 'Returns what an authorization request asks for',
    notes: `The body has the parameters of the request. Nothing is approved. ${notes}`,
    access: 'browser',
    ownOriginOnly: true,
    body: authorizationParameters,
    status: 200,
    response: pendingAuthorization,
    errors,
    errorMeanings,
  }),
  approveAuthorization: define({
    id: 'approveAuthorization',
    title: 'Approve an authorization request',
    group: 'authorization',
    method: 'post',
    path: `${auth}/authorize/approve`,
    summary: 'Approves an authorization request and returns the response for the client',
    notes: `The body has the parameters of the request, and as \`scope\` the one that was looked up. The user must have signed in recently unless the approval is \`given\`. ${notes}`,
    access: 'browser',
    ownOriginOnly: true,
    body: authorizationParameters,
    status: 200,
    response: authorizationResponse,
    errors,
    errorMeanings,
  }),
  denyAuthorization: define({
    id: 'denyAuthorization',
    title: 'Deny an authorization request',
    group: 'authorization',
    method: 'post',
    path: `${auth}/authorize/deny`,
    summary: 'Denies an authorization request and returns the response for the client',
    notes: `The body has the parameters of the request. ${notes}`,
    access: 'browser',
    ownOriginOnly: true,
    body: authorizationParameters,
    status: 200,
    response: authorizationResponse,
    errors,
    errorMeanings,
  }),
} as const;
