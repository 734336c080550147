import {
  authorizationApproval,
  authorizationParameters,
  authorizationResponse,
  clientErrors,
  pendingAuthorization,
} from '../authorize.ts';
import { at, define } from '../endpoint.ts';
import { refusedTouch } from '../passkeys.ts';

const shared = {
  access: 'browser',
  ownOriginOnly: true,
  body: authorizationParameters,
  errors: { ...clientErrors, rate_limited: true },
} as const;

const notes =
  'The body has the parameters of the request. With `redirect` or `form_post` beside it, an error belongs to the client: send the user there. A cookie is accepted only from pages of this service.';

export const authorizeEndpoints = {
  verifyAuthorization: define({
    ...shared,
    ...at('authorization', 'post', '/authorize/verify'),
    title: 'Look up an authorization request',
    summary: 'Returns what an authorization request asks for',
    notes: `Nothing is approved. ${notes}`,
    response: pendingAuthorization,
  }),
  approveAuthorization: define({
    ...shared,
    ...at('authorization', 'post', '/authorize/approve'),
    title: 'Approve an authorization request',
    summary: 'Approves an authorization request and returns the response for the client',
    notes: `${notes} Its \`scope\` is the one that was looked up. Unless the approval is \`given\`, a passkey of the account has to confirm it; without one, the user must have signed in recently.`,
    body: authorizationApproval,
    errors: { ...shared.errors, invalid_grant: refusedTouch },
    response: authorizationResponse,
  }),
  denyAuthorization: define({
    ...shared,
    ...at('authorization', 'post', '/authorize/deny'),
    title: 'Deny an authorization request',
    summary: 'Denies an authorization request and returns the response for the client',
    notes,
    response: authorizationResponse,
  }),
} as const;
