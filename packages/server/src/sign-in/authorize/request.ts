// What an authorization request says, judged without asking the database: pure functions.
// @see RFC 6749 section 4.1.1, RFC 7636 section 4.3, OpenID Connect Core section 3.1.2.1

import {
  type AuthorizationParameters,
  type AuthorizationResponse,
  codeChallengeMethod,
  responseModes,
  responseType,
} from '@latchkey/contract/authorize';
import { fieldLimits } from '@latchkey/contract/field-limits';
import { visibleText } from '@latchkey/contract/fields';
import { AuthError, invalidRequest } from '../../platform/errors.ts';
import { printable, withoutEmpty } from '../../platform/values/parameters.ts';
import { withParameters } from '../../platform/values/redirect-uri.ts';
import { type Client, redirectUriOf } from '../../services/clients.ts';

/** The parameters as they were sent, with the names of those that were sent twice. */
export interface SentParameters {
  readonly values: AuthorizationParameters;
  readonly duplicates: readonly string[];
}

/** Where and how the response to a request goes. */
export interface ResponseTarget {
  readonly redirectUri: string;
  readonly responseMode: (typeof responseModes)[number];
  readonly state: string | undefined;
  /** Who responds. @see RFC 9207 */
  readonly issuer: string;
}

export type AuthorizationRequest = ReturnType<typeof parseRequest>;

/** @throws {AuthError} `invalid_request`, for the page: there is no trusted redirect URI to send it to */
export function requireClientId({ values, duplicates }: SentParameters): string {
  if (duplicates.includes('client_id')) throw invalidRequest('client_id: appears twice');
  if (!values.client_id) throw invalidRequest('client_id: is missing');
  return values.client_id;
}

/** Where the response goes. @throws {AuthError} `invalid_request`, of which the client must not learn */
export function responseTarget(sent: SentParameters, client: Client, issuer: string): ResponseTarget {
  const { redirect_uri, response_mode, state }: AuthorizationParameters = withoutEmpty(sent.values);
  const isOnce = (name: string) => !sent.duplicates.includes(name);
  if (!isOnce('redirect_uri')) throw invalidRequest('redirect_uri: appears twice');
  const redirectUri = redirectUriOf(client, redirect_uri);
  if (redirectUri === undefined) {
    throw invalidRequest(
      redirect_uri === undefined
        ? 'redirect_uri: is missing'
        : 'redirect_uri: is not registered for this client',
    );
  }
  const isFormPost = response_mode === 'form_post' && isOnce('response_mode');
  if (client.kind === 'command_line' && !isFormPost) throw invalidRequest('response_mode: must be form_post');
  return {
    redirectUri,
    responseMode: isFormPost ? 'form_post' : 'query',
    state: isOnce('state') && state !== undefined && state.length <= fieldLimits.state ? state : undefined,
    issuer,
  };
}

const prompts: readonly string[] = ['none', 'login', 'consent', 'select_account'];

/** How old the new sign-in for `prompt=login` may be: as long as it takes to sign in and approve. */
const newSignInSeconds = 300;

const codeChallengePattern = /^[A-Za-z0-9._~-]{43,128}$/;

/** The maximum lengths of the parameters that have no other rule, or that come first. */
const maxLengths = {
  state: fieldLimits.state,
  scope: fieldLimits.scope,
  resource: fieldLimits.resource,
  nonce: fieldLimits.nonce,
  login_hint: fieldLimits.hint,
  ui_locales: fieldLimits.hint,
  prompt: fieldLimits.hint,
  id_token_hint: fieldLimits.idToken,
} as const;

/**
 * Everything else about a request, judged for a known client and redirect URI. Its scope
 * and resource are not checked here.
 * @throws {AuthError} for the client: `invalid_request`, `unsupported_response_type`,
 * `request_not_supported`, `request_uri_not_supported`, `interaction_required`
 */
export function parseRequest(sent: SentParameters, client: Client) {
  const values: AuthorizationParameters = withoutEmpty(sent.values);
  const [twice] = sent.duplicates;
  if (twice !== undefined) throw invalidRequest(`${printable(twice)}: appears twice`);
  if (values.request !== undefined) throw new AuthError('request_not_supported', 'request: is not supported');
  if (values.request_uri !== undefined)
    throw new AuthError('request_uri_not_supported', 'request_uri: is not supported');
  if (values.authorization_details !== undefined)
    throw invalidRequest('authorization_details: is not supported here');
  if (values.response_type === undefined) throw invalidRequest('response_type: is missing');
  if (values.response_type !== responseType)
    throw new AuthError('unsupported_response_type', `response_type: must be ${responseType}`);
  const { response_mode: mode } = values;
  if (mode !== undefined && !responseModes.some((known) => known === mode))
    throw invalidRequest(`response_mode: must be ${responseModes.join(' or ')}`);
  for (const [name, max] of Object.entries(maxLengths))
    if ((values[name as keyof typeof maxLengths]?.length ?? 0) > max)
      throw invalidRequest(`${name}: must have at most ${max} characters`);
  return {
    isRedirectUriNamed: values.redirect_uri !== undefined,
    codeChallenge: requireCodeChallenge(values),
    scope: values.scope,
    resource: values.resource,
    deviceName: client.kind === 'command_line' ? readDeviceName(values) : null,
    nonce: values.nonce ?? null,
    ...readPrompt(values),
    idTokenHint: values.id_token_hint,
  };
}

function requireCodeChallenge({ code_challenge, code_challenge_method }: AuthorizationParameters): string {
  if (code_challenge === undefined) throw invalidRequest('code_challenge: is missing');
  if (code_challenge_method !== codeChallengeMethod)
    throw invalidRequest(`code_challenge_method: must be ${codeChallengeMethod}`);
  if (!codeChallengePattern.test(code_challenge))
    throw invalidRequest('code_challenge: must be 43-128 characters of A-Z, a-z, 0-9, -, ., _ and ~');
  return code_challenge;
}

function readDeviceName({ device_name }: AuthorizationParameters): string | null {
  const isVisible = visibleText(fieldLimits.clientText).safeParse(device_name).success;
  if (device_name === undefined || isVisible) return device_name ?? null;
  throw invalidRequest(`device_name: must be 1-${fieldLimits.clientText} printable characters`);
}

/** What the request asks of the user and of their sign-in. @see OpenID Connect Core section 3.1.2.1 */
function readPrompt({ prompt = '', max_age }: AuthorizationParameters) {
  const named = prompt.split(' ').filter((name) => name !== '');
  if (!named.every((name) => prompts.includes(name)))
    throw invalidRequest(`prompt: must be of ${prompts.join(', ')}`);
  if (max_age !== undefined && !/^\d{1,9}$/.test(max_age))
    throw invalidRequest('max_age: must be a whole number of seconds');
  if (named.includes('none')) {
    if (named.length > 1) throw invalidRequest('prompt: none cannot be combined with other values');
    throw new AuthError(
      'interaction_required',
      'prompt: none is not possible, because the request needs a page',
    );
  }
  const needsNewSignIn = named.includes('login') || (max_age !== undefined && Number(max_age) === 0);
  const limits = [
    ...(needsNewSignIn ? [newSignInSeconds] : []),
    ...(max_age === undefined || Number(max_age) === 0 ? [] : [Number(max_age)]),
  ];
  return {
    needsConsent: named.includes('consent'),
    needsNewSignIn,
    maxAgeSeconds: limits.length === 0 ? undefined : Math.min(...limits),
  };
}

/** The response to the client, in the way that the request asked for. @see RFC 6749 section 4.1.2 */
export function responseTo(
  { redirectUri, responseMode, state, issuer }: ResponseTarget,
  answer: Readonly<Record<string, string>>,
): AuthorizationResponse {
  const fields = { ...answer, ...(state === undefined ? {} : { state }), iss: issuer };
  if (responseMode === 'form_post') return { form_post: { action: redirectUri, fields } };
  return { redirect: withParameters(redirectUri, fields) };
}

/** An error as a response to the client. @see RFC 6749 section 4.1.2.1 */
export const errorResponseTo = (
  target: ResponseTarget,
  { code, message }: Pick<AuthError, 'code' | 'message'>,
): AuthorizationResponse =>
  responseTo(target, {
    error: code,
    // Its characters are limited. @see RFC 6749 appendix A.8
    error_description: message.replaceAll('"', "'").replace(/[^\x20-\x7e]|\\/g, '?'),
  });
