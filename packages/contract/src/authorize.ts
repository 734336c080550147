import { z } from 'zod';
import { at, define } from './endpoint.ts';
import { examples } from './examples.ts';
import { described, deviceName, flag, formPost, model, shown, shownOrNull, storable, url } from './fields.ts';
import { refusedTouch, touch, touchOptions } from './passkeys.ts';
import { requestedAccess } from './scopes.ts';

/** The only response type. @see RFC 6749 section 4.1.1 */
export const responseType = 'code';
export const responseModes = ['query', 'form_post'] as const;
export const codeChallengeMethod = 'S256';

/** The errors that belong to the client of an authorization request. All others are about the request of the page. */
export const clientErrors = {
  invalid_request:
    'A parameter is missing, duplicate or wrong. Without `redirect` or `form_post` beside it, the client or its redirect URI is unknown: show the error.',
  invalid_scope: 'A scope is unknown, or not for this client.',
  invalid_target: 'No service declares the resource.',
  unsupported_response_type: true,
  request_not_supported: true,
  request_uri_not_supported: true,
  interaction_required: true,
  login_required: true,
} as const;

/** Only lengths that a body bounds anyway: what is wrong with a parameter is an error of the authorization request itself. */
const parameter = (description: string, example: string) =>
  described(storable(z.string()).optional(), description, example);

/** The parameters of an authorization request. @see RFC 6749 section 4.1.1, RFC 7636 section 4.3, OpenID Connect Core 3.1.2.1 */
export const authorizationParameters = z
  .object({
    response_type: parameter('Always `code`.', responseType),
    client_id: parameter('The id of the client.', examples.serviceId),
    redirect_uri: parameter(
      'Where the response goes. Optional if the client has exactly one redirect URI.',
      'https://grafana.example/login/generic_oauth',
    ),
    response_mode: parameter('`query` or `form_post`. Default: `query`.', 'query'),
    code_challenge: parameter(
      'The SHA-256 hash of the code verifier, in base64url.',
      'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    ),
    code_challenge_method: parameter('Always `S256`.', codeChallengeMethod),
    scope: parameter('What the client asks to do: scopes separated by spaces.', 'openid profile'),
    resource: parameter('The URI of the only service that shall accept the tokens.', examples.resource),
    state: parameter('Returned with the response, up to 2,048 characters.', 'af0ifjsldkj'),
    device_name: parameter('Where the command line runs. Ignored from other clients.', 'den'),
    nonce: parameter('Returned in the identity token, up to 512 characters.', 'n-0S6_WzA2Mj'),
    prompt: parameter('`login`, `consent`, `select_account` or `none`.', 'login'),
    max_age: parameter('The maximum age of the sign-in, in seconds.', '3600'),
    login_hint: parameter('The email address to fill in.', examples.email),
    id_token_hint: parameter('An identity token of the user who is expected.', examples.idToken),
    ui_locales: parameter(
      'The languages of the page for this request, best first, unless the user has chosen one. The sign-in page is in the language of the browser.',
      'de en',
    ),
    authorization_details: parameter('Not supported: refused.', ''),
    request: parameter('Not supported: refused.', ''),
    request_uri: parameter('Not supported: refused.', ''),
  })
  .meta({
    examples: [
      {
        response_type: responseType,
        client_id: examples.serviceId,
        redirect_uri: 'https://grafana.example/login/generic_oauth',
        code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
        code_challenge_method: codeChallengeMethod,
        scope: 'openid profile',
        state: 'af0ifjsldkj',
      },
    ],
  });
export type AuthorizationParameters = z.infer<typeof authorizationParameters>;

/** The response to the client: an address to go to, or a form to post. */
const authorizationResponse = z
  .union([
    z
      .object({
        redirect: url(
          'The redirect URI with the response in its query.',
          `https://grafana.example/login/generic_oauth?code=${examples.authorizationCode}`,
        ),
      })
      .meta({ id: 'AuthorizationRedirect', title: 'With response_mode=query' }),
    z.object({ form_post: formPost }).meta({
      id: 'AuthorizationFormPost',
      title: 'With response_mode=form_post',
      description: 'The response as a form.',
    }),
  ])
  .meta({ description: 'RFC 6749 section 4.1.2, RFC 9207' });
export type AuthorizationResponse = z.infer<typeof authorizationResponse>;

const authorizationClient = z.object({
  id: shown('The client_id.', examples.serviceId),
  name: shown('Its name: registered by the operator, or unverified if `kind` is `external`.', 'Grafana'),
  kind: described(
    z.enum(['command_line', 'service', 'external']),
    '`command_line` is the program latchkey, `service` an application that the operator registered, `external` one that describes itself at its client_id.',
    'service',
  ),
  host: shownOrNull('The host of an external client, as in its client_id. Otherwise null.', null),
});

const pendingAuthorization = model('PendingAuthorization', 'What an authorization request asks for.', {
  client: authorizationClient.meta({ description: 'Who asks.' }),
  redirect_host: shownOrNull(
    'The host that the response goes to. Null for a program on this computer.',
    'grafana.example',
  ),
  loopback_warning: flag('Whether to warn that any local program could claim to be the client.', false),
  ...requestedAccess,
  device_name: deviceName,
  approval: described(
    z.enum(['needed', 'given']),
    'Whether the user has to approve. `given` for trusted applications, and for a service with a key while a session of it may do as much: approve at once.',
    'needed',
  ),
  sign_in_needed: flag('Whether the user has to sign in again before approving.', false),
  passkey: touchOptions,
});
export type PendingAuthorization = z.infer<typeof pendingAuthorization>;

/** Who sends an authorization request, and where the response goes, for the person who reads the page. */
export type AuthorizationSource = Pick<PendingAuthorization, 'client' | 'redirect_host'>;

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
    notes: `Nothing is approved. ${notes}`,
    response: pendingAuthorization,
  }),
  approveAuthorization: define({
    ...shared,
    ...at('authorization', 'post', '/authorize/approve'),
    title: 'Approve an authorization request',
    summary: 'Approves an authorization request and returns the response for the client',
    notes: `${notes} Its \`scope\` is the one that was looked up. Unless the approval is \`given\`, a passkey of the account has to confirm it; without one, the user must have signed in recently.`,
    body: authorizationParameters.extend({ passkey: touch }),
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
