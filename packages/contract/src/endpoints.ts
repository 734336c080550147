import type { z } from 'zod';
import { profile, profilePatch } from './account.ts';
import {
  deviceAuthorization,
  deviceAuthorizationRequest,
  deviceTokenRequest,
  pendingDevice,
  userCodeRequest,
} from './device.ts';
import {
  emailChangePreview,
  emailChangeRequest,
  emailChangeSent,
  emailChangeToken,
  emailChangeVerification,
} from './email-change.ts';
import type { ErrorCode } from './errors.ts';
import { eventList } from './events.ts';
import { emptyObject, pagination } from './fields.ts';
import { magicLinkRequest, magicLinkSent, magicLinkVerification } from './magic-links.ts';
import { disownedNotice, noticeDisowning } from './notices.ts';
import { organizationList } from './organizations.ts';
import {
  authenticationResponse,
  creationOptions,
  passkey,
  passkeyList,
  passkeyPatch,
  registrationResponse,
  requestOptions,
} from './passkeys.ts';
import { introspection, introspectionJwtType, introspectionRequest } from './services.ts';
import { sessionList } from './sessions.ts';
import {
  cookieSignIn,
  grantForm,
  refreshForm,
  refreshRequest,
  revokeForm,
  revokeScope,
  signInQuery,
  tokenSet,
} from './tokens.ts';

/**
 * Who may call an endpoint.
 *
 * - `anyone`: no credential.
 * - `optional`: an access token or cookie is used if present.
 * - `bearer`: an access token or cookie.
 * - `browser`: an access token or cookie of a browser session.
 * - `recent`: like `browser`, and the user signed in recently.
 * - `service`: a service with its key.
 */
export type Access = 'anyone' | 'optional' | 'bearer' | 'browser' | 'recent' | 'service';

/** An API operation. Validation, types, clients and the OpenAPI document are all derived from it. */
export interface Endpoint {
  readonly id: string;
  readonly method: 'get' | 'post' | 'patch' | 'delete';
  /** Parameters in braces, as in OpenAPI. */
  readonly path: string;
  /** One sentence without a full stop. */
  readonly summary: string;
  /** Details beyond the summary, in full sentences. */
  readonly notes?: string;
  readonly access: Access;
  readonly query?: z.ZodObject;
  /** Optional request headers, by name, with their descriptions. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The JSON body; an endpoint without this accepts none. */
  readonly body?: z.ZodType;
  /** Without a body, every member counts as absent. */
  readonly bodyOptional?: true;
  /** The form-encoded body of the same operation. */
  readonly form?: z.ZodType;
  readonly status: 200 | 201 | 202 | 204;
  /** The success status for a form, if it differs from `status`. */
  readonly formStatus?: 200;
  /** The response carries an ETag. */
  readonly etag?: true;
  readonly response?: z.ZodType;
  /** The media type to request a signed response with, through `Accept`. */
  readonly signedAs?: string;
  readonly errors: readonly ErrorCode[];
}

/** Optional on every request with a user's credential: it is refused unless the credential belongs to this user id. */
export const userHeader = 'Latchkey-User';

const define = <const E extends Endpoint>(endpoint: E): E => endpoint;

const auth = '/api/v1/auth';

const repeatable = (seconds: number) => ({
  'Idempotency-Key': `A unique value of 1-128 printable characters. Repeating the request with the same key returns the same tokens for ${seconds} seconds.`,
});

export const endpoints = {
  startDeviceAuthorization: define({
    id: 'startDeviceAuthorization',
    method: 'post',
    path: `${auth}/device`,
    summary: 'Starts a device sign-in and returns its device code and user code',
    notes:
      'The device polls for tokens with the device code while the user enters the user code in a browser. See RFC 8628 section 3.1.',
    access: 'anyone',
    body: deviceAuthorizationRequest,
    bodyOptional: true,
    form: deviceAuthorizationRequest,
    status: 200,
    response: deviceAuthorization,
    errors: ['invalid_request', 'rate_limited'],
  }),
  redeemDeviceCode: define({
    id: 'redeemDeviceCode',
    method: 'post',
    path: `${auth}/token`,
    summary: 'Returns the tokens of a device sign-in once the user has approved it',
    notes:
      'Poll at the interval returned when the sign-in was started. With a form-encoded body, this is the OAuth token endpoint.',
    access: 'anyone',
    headers: repeatable(60),
    body: deviceTokenRequest,
    form: grantForm,
    status: 200,
    response: tokenSet,
    errors: [
      'invalid_request',
      'invalid_grant',
      'authorization_pending',
      'slow_down',
      'access_denied',
      'expired_token',
      'unsupported_grant_type',
      'account_disabled',
      'rate_limited',
    ],
  }),
  verifyDevice: define({
    id: 'verifyDevice',
    method: 'post',
    path: `${auth}/device/verify`,
    summary: 'Returns the details of a pending device sign-in',
    notes: 'Does not approve, deny or otherwise change it.',
    access: 'browser',
    body: userCodeRequest,
    status: 200,
    response: pendingDevice,
    errors: ['invalid_request', 'invalid_grant', 'rate_limited'],
  }),
  approveDevice: define({
    id: 'approveDevice',
    method: 'post',
    path: `${auth}/device/approve`,
    summary: 'Approves a pending device sign-in',
    notes: 'The decision is final.',
    access: 'recent',
    body: userCodeRequest,
    status: 204,
    errors: ['invalid_request', 'invalid_grant', 'rate_limited'],
  }),
  denyDevice: define({
    id: 'denyDevice',
    method: 'post',
    path: `${auth}/device/deny`,
    summary: 'Denies a pending device sign-in',
    notes: 'The decision is final.',
    access: 'browser',
    body: userCodeRequest,
    status: 204,
    errors: ['invalid_request', 'invalid_grant', 'rate_limited'],
  }),
  startPasskeyRegistration: define({
    id: 'startPasskeyRegistration',
    method: 'post',
    path: `${auth}/passkey/register/challenge`,
    summary: 'Returns the options for creating a passkey',
    notes:
      'The response is a PublicKeyCredentialCreationOptionsJSON (WebAuthn Level 3). Complete the registration in the same session.',
    access: 'recent',
    body: emptyObject,
    bodyOptional: true,
    status: 200,
    response: creationOptions,
    errors: ['invalid_request', 'rate_limited'],
  }),
  registerPasskey: define({
    id: 'registerPasskey',
    method: 'post',
    path: `${auth}/passkey/register`,
    summary: 'Registers a passkey',
    notes: 'Takes a RegistrationResponseJSON, in the session that requested the options.',
    access: 'bearer',
    body: registrationResponse,
    status: 201,
    response: passkey,
    errors: ['invalid_request', 'invalid_grant', 'conflict', 'rate_limited'],
  }),
  startPasskeyLogin: define({
    id: 'startPasskeyLogin',
    method: 'post',
    path: `${auth}/passkey/login/challenge`,
    summary: 'Returns the options for signing in with a passkey',
    notes: 'The response is a PublicKeyCredentialRequestOptionsJSON (WebAuthn Level 3).',
    access: 'anyone',
    body: emptyObject,
    bodyOptional: true,
    status: 200,
    response: requestOptions,
    errors: ['invalid_request', 'rate_limited'],
  }),
  loginWithPasskey: define({
    id: 'loginWithPasskey',
    method: 'post',
    path: `${auth}/passkey/login`,
    summary: 'Signs in with a passkey',
    notes: 'Takes an AuthenticationResponseJSON (WebAuthn Level 3).',
    access: 'anyone',
    query: signInQuery,
    body: authenticationResponse,
    status: 200,
    response: tokenSet.or(cookieSignIn),
    errors: [
      'invalid_request',
      'invalid_grant',
      'unknown_credential',
      'account_disabled',
      'origin_not_allowed',
      'rate_limited',
    ],
  }),
  listPasskeys: define({
    id: 'listPasskeys',
    method: 'get',
    path: `${auth}/passkeys`,
    summary: "Lists the user's passkeys, newest first",
    access: 'bearer',
    status: 200,
    response: passkeyList,
    errors: [],
  }),
  renamePasskey: define({
    id: 'renamePasskey',
    method: 'patch',
    path: `${auth}/passkeys/{id}`,
    summary: 'Renames a passkey',
    access: 'bearer',
    body: passkeyPatch,
    status: 200,
    response: passkey,
    errors: ['invalid_request', 'not_found', 'rate_limited'],
  }),
  removePasskey: define({
    id: 'removePasskey',
    method: 'delete',
    path: `${auth}/passkeys/{id}`,
    summary: 'Removes a passkey',
    notes: 'The last passkey can be removed too: the user can always sign in by email.',
    access: 'recent',
    status: 204,
    errors: ['not_found'],
  }),
  requestMagicLink: define({
    id: 'requestMagicLink',
    method: 'post',
    path: `${auth}/magic_link`,
    summary: 'Emails a sign-in link and a sign-in code',
    notes: 'The response is the same whether or not the account exists.',
    access: 'anyone',
    body: magicLinkRequest,
    status: 202,
    response: magicLinkSent,
    errors: ['invalid_request', 'rate_limited'],
  }),
  verifyMagicLink: define({
    id: 'verifyMagicLink',
    method: 'post',
    path: `${auth}/magic_link/verify`,
    summary: 'Signs in with an emailed link or code',
    notes: 'Takes the token of the link, or the code together with the request it belongs to.',
    access: 'anyone',
    query: signInQuery,
    body: magicLinkVerification,
    status: 200,
    response: tokenSet.or(cookieSignIn),
    errors: [
      'invalid_request',
      'invalid_grant',
      'account_disabled',
      'signup_disabled',
      'origin_not_allowed',
      'rate_limited',
    ],
  }),
  refresh: define({
    id: 'refresh',
    method: 'post',
    path: `${auth}/refresh`,
    summary: 'Exchanges a refresh token for a new access token and a new refresh token',
    notes:
      'Each refresh token works once. Send a random Idempotency-Key for each refresh token, and store both before sending the request. If the response is lost, repeat the request with the same key to get the same tokens. Without a key, a lost response means that the user has to sign in again. Repeating the request from another network or program works too, but notifies the user.',
    access: 'anyone',
    headers: repeatable(600),
    body: refreshRequest,
    form: refreshForm,
    status: 200,
    response: tokenSet,
    errors: [
      'invalid_request',
      'invalid_grant',
      'unsupported_grant_type',
      'account_disabled',
      'rate_limited',
    ],
  }),
  revoke: define({
    id: 'revoke',
    method: 'post',
    path: `${auth}/revoke`,
    summary: "Revokes all of the user's sessions, or with scope=session only the current one",
    notes:
      'With a form-encoded body, this is the OAuth revocation endpoint (RFC 7009), which responds with 200.',
    access: 'bearer',
    query: revokeScope,
    body: revokeScope,
    bodyOptional: true,
    form: revokeForm,
    status: 204,
    formStatus: 200,
    errors: ['invalid_request'],
  }),
  logout: define({
    id: 'logout',
    method: 'delete',
    path: `${auth}/logout`,
    summary: "Revokes all of the user's sessions, or with scope=session only the current one",
    notes: 'Equivalent to POST /revoke with a JSON body.',
    access: 'bearer',
    query: revokeScope,
    body: revokeScope,
    bodyOptional: true,
    status: 204,
    errors: ['invalid_request'],
  }),
  getProfile: define({
    id: 'getProfile',
    method: 'get',
    path: `${auth}/me`,
    summary: "Returns the user's profile",
    notes: 'Responds with 304 if the profile still matches If-None-Match.',
    access: 'bearer',
    headers: { 'If-None-Match': 'The ETag of a cached profile.' },
    status: 200,
    etag: true,
    response: profile,
    errors: [],
  }),
  updateProfile: define({
    id: 'updateProfile',
    method: 'patch',
    path: `${auth}/me`,
    summary: "Updates the user's profile",
    notes: 'Takes a JSON merge patch (RFC 7396): absent members are unchanged, and null clears a member.',
    access: 'bearer',
    headers: {
      'If-Match': 'The ETag of the profile to update. If the profile has changed since, the request fails.',
    },
    body: profilePatch,
    status: 200,
    etag: true,
    response: profile,
    errors: ['invalid_request', 'precondition_failed', 'rate_limited'],
  }),
  deleteAccount: define({
    id: 'deleteAccount',
    method: 'delete',
    path: `${auth}/me`,
    summary: "Permanently deletes the user's account and all of its data",
    notes: 'Fails with conflict if the user is the only owner of an organization.',
    access: 'recent',
    status: 204,
    errors: ['conflict'],
  }),
  requestEmailChange: define({
    id: 'requestEmailChange',
    method: 'post',
    path: `${auth}/me/email`,
    summary: 'Emails a confirmation link to a new email address',
    notes: 'The response is the same whether or not another account uses the address.',
    access: 'recent',
    body: emailChangeRequest,
    status: 202,
    response: emailChangeSent,
    errors: ['invalid_request', 'signup_disabled', 'rate_limited'],
  }),
  verifyEmailChange: define({
    id: 'verifyEmailChange',
    method: 'post',
    path: `${auth}/me/email/verify`,
    summary: "Changes the account's email address",
    notes:
      'Takes the token of the link, and either a session of the account or its current address. Sends a security notice to the previous address, from which the change can be undone.',
    access: 'optional',
    body: emailChangeVerification,
    status: 200,
    response: profile,
    errors: ['invalid_request', 'invalid_grant', 'conflict', 'account_disabled', 'rate_limited'],
  }),
  previewEmailChange: define({
    id: 'previewEmailChange',
    method: 'post',
    path: `${auth}/me/email/preview`,
    summary: 'Returns the email change that a confirmation link would make',
    notes: 'Requires a session of the account. Changes nothing.',
    access: 'bearer',
    body: emailChangeToken,
    status: 200,
    response: emailChangePreview,
    errors: ['invalid_request', 'invalid_grant', 'rate_limited'],
  }),
  disownNotice: define({
    id: 'disownNotice',
    method: 'post',
    path: `${auth}/notices/disown`,
    summary: 'Ends the session that a security notice is about, and undoes what it added',
    notes: 'This is what the link "This wasn\'t me" in a notice does.',
    access: 'anyone',
    body: noticeDisowning,
    status: 200,
    response: disownedNotice,
    errors: ['invalid_request', 'invalid_grant', 'conflict'],
  }),
  listOrganizations: define({
    id: 'listOrganizations',
    method: 'get',
    path: `${auth}/organizations`,
    summary: "Lists the user's organizations, oldest membership first",
    access: 'bearer',
    query: pagination,
    status: 200,
    response: organizationList,
    errors: ['invalid_request'],
  }),
  listEvents: define({
    id: 'listEvents',
    method: 'get',
    path: `${auth}/events`,
    summary: "Lists the events of the user's security log, newest first",
    access: 'bearer',
    query: pagination,
    status: 200,
    response: eventList,
    errors: ['invalid_request'],
  }),
  listSessions: define({
    id: 'listSessions',
    method: 'get',
    path: `${auth}/sessions`,
    summary: "Lists the user's active sessions, newest first",
    access: 'bearer',
    query: pagination,
    status: 200,
    response: sessionList,
    errors: ['invalid_request'],
  }),
  revokeSession: define({
    id: 'revokeSession',
    method: 'delete',
    path: `${auth}/sessions/{id}`,
    summary: "Revokes one of the user's sessions",
    notes: 'If an approved device has not signed in yet, withdraws the approval instead.',
    access: 'bearer',
    status: 204,
    errors: ['not_found'],
  }),
  introspect: define({
    id: 'introspect',
    method: 'post',
    path: `${auth}/introspect`,
    summary: 'Returns whether a token is active, and whose it is',
    notes: 'For services (RFC 7662). Returns a signed response (RFC 9701) if the Accept header asks for one.',
    access: 'service',
    body: introspectionRequest,
    form: introspectionRequest,
    status: 200,
    response: introspection,
    signedAs: introspectionJwtType,
    errors: ['invalid_request'],
  }),
} as const;
