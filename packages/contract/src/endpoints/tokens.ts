import { z } from 'zod';
import { at, define, repeatable } from '../endpoint.ts';
import {
  deviceTokenRequest,
  grantForm,
  issuedToken,
  refreshForm,
  refreshRequest,
  tokenSet,
} from '../tokens.ts';

export const tokenEndpoints = {
  issueToken: define({
    ...at('device', 'post', '/token'),
    title: 'Get tokens',
    summary: 'Returns the tokens of a device sign-in once the user has approved it',
    notes:
      'Poll at the interval returned when the sign-in was started; it counts from the response. With `Prefer: wait=25`, the response waits for the decision of the user. With a form-encoded body, this is the OAuth token endpoint, which also refreshes tokens, makes runs (RFC 8693) and issues tokens to services that act for no user. A run is a session within another session or a key, for one piece of work. With a service key that may delegate, the service acts in it.',
    access: 'anyone',
    takesServiceKey: true,
    takesCredential: true,
    headers: {
      ...repeatable(60),
      Prefer:
        '`wait=N` holds a poll that is too early for an answer until the user has decided, the code has expired or N seconds have passed, up to 25. `Preference-Applied` then tells the time that was applied. See RFC 7240.',
    },
    body: deviceTokenRequest,
    form: grantForm,
    response: tokenSet,
    formResponse: z.union([tokenSet, issuedToken]),
    errors: {
      invalid_request:
        'A field is missing, empty, duplicate, too long or of the wrong type, or the subject token cannot be used. The description says which.',
      invalid_grant: 'The device code or refresh token is unknown, expired, already used or revoked.',
      authorization_pending: true,
      slow_down: true,
      confirmation_required: true,
      access_denied: true,
      expired_token: true,
      unsupported_grant_type: true,
      invalid_scope: 'A scope is unknown, or exceeds the scope of the session or key.',
      invalid_target: 'No service declares the resource, or the session or service may not use it.',
      invalid_authorization_details: true,
      invalid_client: 'The service key is missing where one is needed, or wrong.',
      unauthorized_client: 'The service may not delegate, or may not ask for this resource.',
      account_disabled: true,
      conflict: 'The session or key has too many active runs.',
      rate_limited: true,
    },
  }),
  refresh: define({
    ...at('sessions', 'post', '/refresh'),
    title: 'Refresh tokens',
    summary: 'Exchanges a refresh token for a new access token and a new refresh token',
    notes:
      'Each refresh token works once. Send a random Idempotency-Key for each refresh token, and store both before sending the request. If the response is lost, repeat the request with the same key to get the same tokens. Without a key, a lost response means that the user has to sign in again. Repeating the request from another network or program works too, but notifies the user. A form without a key can be repeated for 10 seconds by the same client, from the same network and program. The refresh token of a run also needs the key of the service that made it.',
    access: 'anyone',
    takesServiceKey: true,
    headers: repeatable(600),
    body: refreshRequest,
    form: refreshForm,
    response: tokenSet,
    errors: {
      invalid_grant:
        'The refresh token is unknown, expired, already used or revoked. The user has to sign in again.',
      invalid_scope: "The scope is not the session's own.",
      invalid_target: "The resource is not the session's own.",
      unsupported_grant_type: true,
      invalid_client: 'The refresh token of a run came without the service key, or with a wrong one.',
      unauthorized_client: 'The service that made the run may no longer act for users.',
      account_disabled: true,
      rate_limited: true,
    },
  }),
} as const;
