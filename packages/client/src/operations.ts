import type { endpoints } from '@latchkey/contract/endpoints';

type Endpoints = typeof endpoints;

/** Method and path of every operation. Only types are imported: no schema gets into browser bundles. */
export const operations = {
  startDeviceAuthorization: { method: 'post', path: '/api/v1/auth/device' },
  issueToken: { method: 'post', path: '/api/v1/auth/token' },
  verifyDevice: { method: 'post', path: '/api/v1/auth/device/verify' },
  approveDevice: { method: 'post', path: '/api/v1/auth/device/approve' },
  denyDevice: { method: 'post', path: '/api/v1/auth/device/deny' },
  verifyAuthorization: { method: 'post', path: '/api/v1/auth/authorize/verify' },
  approveAuthorization: { method: 'post', path: '/api/v1/auth/authorize/approve' },
  denyAuthorization: { method: 'post', path: '/api/v1/auth/authorize/deny' },
  getUserinfo: { method: 'get', path: '/api/v1/auth/userinfo' },
  postUserinfo: { method: 'post', path: '/api/v1/auth/userinfo' },
  issueIdToken: { method: 'post', path: '/api/v1/auth/id_token' },
  confirmSignOut: { method: 'post', path: '/api/v1/auth/end_session/confirm' },
  startPasskeyRegistration: { method: 'post', path: '/api/v1/auth/passkey/register/challenge' },
  registerPasskey: { method: 'post', path: '/api/v1/auth/passkey/register' },
  startPasskeyLogin: { method: 'post', path: '/api/v1/auth/passkey/login/challenge' },
  loginWithPasskey: { method: 'post', path: '/api/v1/auth/passkey/login' },
  listPasskeys: { method: 'get', path: '/api/v1/auth/passkeys' },
  renamePasskey: { method: 'patch', path: '/api/v1/auth/passkeys/{id}' },
  removePasskey: { method: 'delete', path: '/api/v1/auth/passkeys/{id}' },
  requestMagicLink: { method: 'post', path: '/api/v1/auth/magic_link' },
  previewMagicLink: { method: 'post', path: '/api/v1/auth/magic_link/preview' },
  verifyMagicLink: { method: 'post', path: '/api/v1/auth/magic_link/verify' },
  refresh: { method: 'post', path: '/api/v1/auth/refresh' },
  revoke: { method: 'post', path: '/api/v1/auth/revoke' },
  logout: { method: 'delete', path: '/api/v1/auth/logout' },
  getProfile: { method: 'get', path: '/api/v1/auth/me' },
  updateProfile: { method: 'patch', path: '/api/v1/auth/me' },
  deleteAccount: { method: 'delete', path: '/api/v1/auth/me' },
  requestEmailChange: { method: 'post', path: '/api/v1/auth/me/email' },
  verifyEmailChange: { method: 'post', path: '/api/v1/auth/me/email/verify' },
  previewEmailChange: { method: 'post', path: '/api/v1/auth/me/email/preview' },
  previewNotice: { method: 'post', path: '/api/v1/auth/notices/preview' },
  disownNotice: { method: 'post', path: '/api/v1/auth/notices/disown' },
  listOrganizations: { method: 'get', path: '/api/v1/auth/organizations' },
  putOrganization: { method: 'put', path: '/api/v1/auth/organizations/{slug}' },
  deleteOrganization: { method: 'delete', path: '/api/v1/auth/organizations/{slug}' },
  listMembers: { method: 'get', path: '/api/v1/auth/organizations/{slug}/members' },
  getMember: { method: 'get', path: '/api/v1/auth/organizations/{slug}/members/{user_id}' },
  putMember: { method: 'put', path: '/api/v1/auth/organizations/{slug}/members/{user_id}' },
  removeMember: { method: 'delete', path: '/api/v1/auth/organizations/{slug}/members/{user_id}' },
  getUser: { method: 'get', path: '/api/v1/auth/users/{user_id}' },
  lookupUser: { method: 'post', path: '/api/v1/auth/users/lookup' },
  listUsers: { method: 'get', path: '/api/v1/auth/users' },
  disableUser: { method: 'post', path: '/api/v1/auth/users/{user_id}/disable' },
  enableUser: { method: 'post', path: '/api/v1/auth/users/{user_id}/enable' },
  listUserSessions: { method: 'get', path: '/api/v1/auth/users/{user_id}/sessions' },
  revokeUserSessions: { method: 'delete', path: '/api/v1/auth/users/{user_id}/sessions' },
  revokeUserSession: { method: 'delete', path: '/api/v1/auth/users/{user_id}/sessions/{session_id}' },
  listUserEvents: { method: 'get', path: '/api/v1/auth/users/{user_id}/events' },
  reportOnAddress: { method: 'post', path: '/api/v1/auth/users/report' },
  listUserEmails: { method: 'get', path: '/api/v1/auth/users/{user_id}/emails' },
  listSessions: { method: 'get', path: '/api/v1/auth/sessions' },
  revokeSession: { method: 'delete', path: '/api/v1/auth/sessions/{id}' },
  introspect: { method: 'post', path: '/api/v1/auth/introspect' },
  readFeed: { method: 'post', path: '/api/v1/auth/feed' },
  challengeKey: { method: 'post', path: '/api/v1/auth/keys/challenge' },
  createKey: { method: 'post', path: '/api/v1/auth/keys' },
  listKeys: { method: 'get', path: '/api/v1/auth/keys' },
  removeKey: { method: 'delete', path: '/api/v1/auth/keys/{id}' },
  listScopes: { method: 'get', path: '/api/v1/auth/scopes' },
  listEvents: { method: 'get', path: '/api/v1/auth/events' },
} as const satisfies { [Id in keyof Endpoints]: Pick<Endpoints[Id], 'method' | 'path'> };

export type OperationId = keyof Endpoints;

// Zod keeps a schema's types in `_zod`, where they can be read without importing zod.
type Output<Schema> = Schema extends { readonly _zod: { readonly output: infer T } } ? T : never;
type Input<Schema> = Schema extends { readonly _zod: { readonly input: infer T } } ? T : never;

/** The response body; undefined for a 204. */
export type Answer<Id extends OperationId> = Endpoints[Id] extends { readonly response: infer Schema }
  ? Output<Schema>
  : undefined;

type ParamsIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? { readonly [K in Name]: string } & ParamsIn<Rest>
  : unknown;

/** The path parameters, by name. */
export type Params<Id extends OperationId> = ParamsIn<Endpoints[Id]['path']>;

export type Body<Id extends OperationId> = Endpoints[Id] extends { readonly body: infer Schema }
  ? Input<Schema>
  : undefined;

/** The query parameters, in their encoded form. */
export type Query<Id extends OperationId> = Endpoints[Id] extends { readonly query: infer Schema }
  ? { readonly [Name in keyof Input<Schema>]?: Input<Schema>[Name] }
  : undefined;
