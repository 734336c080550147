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
 * Who may call: anyone; anyone, with an access token or cookie that counts if it is there (`optional`); a valid access
 * token or cookie (`bearer`); one of a browser login (`browser`); and either of the two with a recent login, which only
 * a browser login can be. Or a sibling service with its key.
 */
export type Access = 'anyone' | 'optional' | 'bearer' | 'browser' | 'recent' | 'service';

/** One operation of the interface: validation, types, clients and the OpenAPI document all follow from it. */
export interface Endpoint {
  readonly id: string;
  readonly method: 'get' | 'post' | 'patch' | 'delete';
  /** Parameters in braces, as in OpenAPI. */
  readonly path: string;
  readonly summary: string;
  /** What else a caller must know, in sentences. */
  readonly notes?: string;
  readonly access: Access;
  readonly query?: z.ZodObject;
  /** Request headers that change what happens, and how. All may be left out. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The JSON body. An endpoint without it takes none. */
  readonly body?: z.ZodType;
  /** The body may be left out; every member is then absent. */
  readonly bodyOptional?: true;
  /** The form-encoded dialect of the same operation. */
  readonly form?: z.ZodType;
  readonly status: 200 | 201 | 202 | 204;
  /** The status that answers a form, where it differs. */
  readonly formStatus?: 200;
  /** The answer carries an entity tag. */
  readonly etag?: true;
  readonly response?: z.ZodType;
  /** The media type that an `Accept` header may ask for, where the answer can also be had signed. */
  readonly signedAs?: string;
  readonly errors: readonly ErrorCode[];
}

/** Wherever a user's credential is asked for: nothing is done or shown unless it is of the user with this id. */
export const userHeader = 'Latchkey-User';

const define = <const E extends Endpoint>(endpoint: E): E => endpoint;

const auth = '/api/v1/auth';

const repeatable = (seconds: number) => ({
  'Idempotency-Key': `Of your own choosing, 1-128 printable characters: the same request with the same key gets the same tokens again for ${seconds} s.`,
});

export const endpoints = {
  startDeviceAuthorization: define({
    id: 'startDeviceAuthorization',
    method: 'post',
    path: `${auth}/device`,
    summary: 'Start a device login: codes for the terminal and for the person (RFC 8628 section 3.1)',
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
    summary: 'Poll for the tokens of a device login; as a form, the OAuth token endpoint',
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
    summary: 'See who asks for a device login. Looking changes nothing',
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
    summary: 'Approve a pending device login, once',
    access: 'recent',
    body: userCodeRequest,
    status: 204,
    errors: ['invalid_request', 'invalid_grant', 'rate_limited'],
  }),
  denyDevice: define({
    id: 'denyDevice',
    method: 'post',
    path: `${auth}/device/deny`,
    summary: 'Deny a pending device login, once',
    access: 'browser',
    body: userCodeRequest,
    status: 204,
    errors: ['invalid_request', 'invalid_grant', 'rate_limited'],
  }),
  startPasskeyRegistration: define({
    id: 'startPasskeyRegistration',
    method: 'post',
    path: `${auth}/passkey/register/challenge`,
    summary: 'Options for making a passkey, as PublicKeyCredentialCreationOptionsJSON (WebAuthn Level 3)',
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
    summary:
      'Add the passkey that a RegistrationResponseJSON brings, in the session that asked for the options',
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
    summary: 'Options for a passkey login, as PublicKeyCredentialRequestOptionsJSON (WebAuthn Level 3)',
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
    summary: 'Log in with an AuthenticationResponseJSON',
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
    summary: "The user's passkeys, newest first",
    access: 'bearer',
    status: 200,
    response: passkeyList,
    errors: [],
  }),
  renamePasskey: define({
    id: 'renamePasskey',
    method: 'patch',
    path: `${auth}/passkeys/{id}`,
    summary: 'Give a passkey of the user another name',
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
    summary: 'Remove a passkey of the user. The last one may go: the mail link stays as the way back in',
    access: 'recent',
    status: 204,
    errors: ['not_found'],
  }),
  requestMagicLink: define({
    id: 'requestMagicLink',
    method: 'post',
    path: `${auth}/magic_link`,
    summary: 'Send a mail with a login link and a login code. Never tells whether the account exists',
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
    summary: 'Log in with the link, or with the code and the request it belongs to',
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
    summary: 'Spend a refresh token for its one successor',
    notes:
      'Send an Idempotency-Key, a random one for each refresh token, and store both together before you send them. If the answer is lost, the same request gets the same tokens again. Without a key a lost answer cannot be repeated: the token is spent, and the person has to log in again. A request that is repeated from another network or program is answered all the same, and the owner of the account is told.',
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
    summary:
      'End every login of the user, or with scope=session this one; as a form, RFC 7009 (answered with 200)',
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
    summary: 'The same as revoke',
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
    summary: 'The profile of the user, with an ETag; 304 where If-None-Match names it',
    access: 'bearer',
    headers: { 'If-None-Match': 'The ETag of the profile that the caller has.' },
    status: 200,
    etag: true,
    response: profile,
    errors: [],
  }),
  updateProfile: define({
    id: 'updateProfile',
    method: 'patch',
    path: `${auth}/me`,
    summary: 'Change the profile by JSON merge patch (RFC 7396); If-Match is honoured',
    access: 'bearer',
    headers: { 'If-Match': 'The ETag of the profile that the change was made on.' },
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
    summary:
      'Delete the account and everything of it, for good. Refused to the only owner of an organization',
    access: 'recent',
    status: 204,
    errors: ['conflict'],
  }),
  requestEmailChange: define({
    id: 'requestEmailChange',
    method: 'post',
    path: `${auth}/me/email`,
    summary: 'Send a link to a new address. Never tells whether another account has it',
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
    summary:
      'Change the address with the token of the link, and a session of the account or its current address. The old address gets a notice with an undo',
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
    summary:
      'See which address the link would replace by which, in a session of the account. Changes nothing',
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
    summary: '"This was not me": end the login that a notice tells of, and undo what it added',
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
    summary: 'The organizations of the user, oldest membership first',
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
    summary: "The user's security log, newest first",
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
    summary: "The user's logins, newest first",
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
    summary: 'End one login of the user, or take back the approval of one that its device has not picked up',
    access: 'bearer',
    status: 204,
    errors: ['not_found'],
  }),
  introspect: define({
    id: 'introspect',
    method: 'post',
    path: `${auth}/introspect`,
    summary:
      'For services: whether a token is good, and whose it is (RFC 7662). Signed where Accept asks for it (RFC 9701)',
    access: 'service',
    body: introspectionRequest,
    form: introspectionRequest,
    status: 200,
    response: introspection,
    signedAs: introspectionJwtType,
    errors: ['invalid_request'],
  }),
} as const;
