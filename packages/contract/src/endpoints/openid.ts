import { at, define } from '../endpoint.ts';
import { runIdentity, runIdentityRequest, signedOut, signOutParameters, userinfo } from '../openid.ts';

const userinfoEndpoint = {
  summary: 'Returns what an application may know about its user',
  notes: 'The scope must name openid, which `*` does not include. See OpenID Connect Core section 5.3.',
  access: 'bearer',
  scopes: ['openid'],
  response: userinfo,
} as const;

export const openidEndpoints = {
  getUserinfo: define({
    ...userinfoEndpoint,
    ...at('authorization', 'get', '/userinfo'),
    title: 'Get the user of an application',
  }),
  postUserinfo: define({
    ...userinfoEndpoint,
    ...at('authorization', 'post', '/userinfo'),
    title: 'Get the user of an application by POST',
  }),
  issueIdToken: define({
    ...at('sessions', 'post', '/id_token'),
    title: 'Get an identity token of a run',
    summary: 'Issues a token with which a run proves to another system whom it acts for',
    notes:
      'For systems that trust this service as an OpenID Connect issuer. The token must be that of a run whose scope names identity. The subject is `run:` and the user id, with `:` and the service id if a service acts in the run. The token is valid for at most 15 minutes and never longer than the run.',
    access: 'bearer',
    scopes: ['identity'],
    body: runIdentityRequest,
    response: runIdentity,
    errors: { invalid_target: 'The operator does not list this audience.' },
  }),
  confirmSignOut: define({
    ...at('authorization', 'post', '/end_session/confirm'),
    title: 'Confirm signing out',
    summary: "Ends the browser's session and the session of the requesting application",
    notes:
      'For the page that an application sends people to (OpenID Connect RP-Initiated Logout). The session of the application is the one that its identity token names, if it belongs to the same user or no user is signed in. Accepted only from pages of this service.',
    access: 'optional',
    ownOriginOnly: true,
    body: signOutParameters,
    bodyOptional: true,
    response: signedOut,
    errors: {
      invalid_request: 'The identity token, the client or its redirect URI is wrong. Nothing has ended.',
    },
  }),
} as const;
