import { z } from 'zod';
import { examples } from './examples.ts';
import { described, deviceName, model, shown, shownOrNull, storable } from './fields.ts';
import { touch, touchOptions } from './passkeys.ts';
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
    ui_locales: parameter('Accepted; pages are in the language of the browser.', 'de en'),
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

export const authorizationApproval = authorizationParameters.extend({ passkey: touch });

export const formPost = model(
  'FormPost',
  'A form that the page posts to the client (OAuth 2.0 Form Post Response Mode).',
  {
    action: described(z.url(), 'The redirect URI.', 'http://127.0.0.1:41234/callback'),
    fields: described(z.record(z.string(), z.string()), 'The fields of the form.', {
      code: examples.authorizationCode,
      state: 'af0ifjsldkj',
      iss: 'https://login.example',
    }),
  },
);

/** The response to the client: an address to go to, or a form to post. */
export const authorizationResponse = z
  .union([
    z
      .object({
        redirect: described(
          z.url(),
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
  name: shown(
    'The name of the client: registered by the operator, or unverified if `kind` is `external`.',
    'Grafana',
  ),
  kind: described(
    z.enum(['command_line', 'service', 'external']),
    '`command_line` is the program latchkey, `service` an application that the operator registered, `external` one that describes itself at its client_id.',
    'service',
  ),
  host: shownOrNull('The host of an external client, as in its client_id. Otherwise null.', null),
});

export const pendingAuthorization = model('PendingAuthorization', 'What an authorization request asks for.', {
  client: authorizationClient.meta({ description: 'Who asks.' }),
  redirect_host: shownOrNull(
    'The host that the response goes to. Null for a program on this computer.',
    'grafana.example',
  ),
  loopback_warning: described(
    z.boolean(),
    'Whether to warn that any program on this computer could claim to be the client.',
    false,
  ),
  ...requestedAccess,
  device_name: deviceName,
  approval: described(
    z.enum(['needed', 'given']),
    'Whether the user has to approve. `given` for trusted applications, and for a service with a key while a session of it may do as much: approve at once.',
    'needed',
  ),
  sign_in_needed: described(z.boolean(), 'Whether the user has to sign in again before approving.', false),
  passkey: touchOptions,
});
export type PendingAuthorization = z.infer<typeof pendingAuthorization>;

/** Who sends an authorization request, and where the response goes, for the person who reads the page. */
export type AuthorizationSource = Pick<PendingAuthorization, 'client' | 'redirect_host'>;
