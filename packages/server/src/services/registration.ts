// What an operator registers about a service, as a whole or in part, and the rules for it: pure functions.

import { fieldLimits } from '@latchkey/contract/field-limits';
import { visibleText } from '@latchkey/contract/fields';
import { scopeName } from '@latchkey/contract/scope-names';
import { ownScopes, type ServiceRight, serviceRights } from '@latchkey/contract/scopes';
import { invalidRequest } from '../platform/errors.ts';
import { isLoopbackRedirect, parseRedirectUri } from '../platform/values/redirect-uri.ts';

/** A scope that a service declares, with the sentence that people approve. */
export interface DeclaredScope {
  readonly name: string;
  readonly sentence: string;
}

export interface Registration {
  /** The URI that tokens for the service are bound to. */
  readonly resource: string | null;
  readonly scopes: readonly DeclaredScope[];
  readonly rights: readonly ServiceRight[];
  /** The resources of other services that it may ask tokens for. */
  readonly reach: readonly string[];
  /** Where people who sign in to it are sent back to. A service with any is an OAuth client. */
  readonly redirectUris: readonly string[];
  /** Where people who signed out are sent back to. */
  readonly signOutRedirectUris: readonly string[];
  /** As an OAuth client it has no key. @see RFC 6749 section 2.1 */
  readonly isPublic: boolean;
  /** It is one of the platform's own applications: people need not approve it. */
  readonly isTrusted: boolean;
}

/** A service that declares nothing and may do nothing. */
export const emptyRegistration: Registration = {
  resource: null,
  scopes: [],
  rights: [],
  reach: [],
  redirectUris: [],
  signOutRedirectUris: [],
  isPublic: false,
  isTrusted: false,
};

/** Lists are stored as text, separated by spaces. */
export const listOf = (text: string): string[] => (text === '' ? [] : text.split(' '));

/** An absolute URI without a fragment. @see RFC 3986 section 4.3, RFC 8707 section 2 */
const absoluteUri = /^[a-z][a-z0-9+.-]*:(?:[\w\-.~:/?[\]@!$&'()*+,;=]|%[0-9a-f]{2})+$/i;

/** @throws {AuthError} `invalid_request` for a name that is empty, too long or not visible text */
export function requireName(name: string): void {
  if (visibleText(fieldLimits.clientText).safeParse(name).success) return;
  throw invalidRequest(`The name must be 1-${fieldLimits.clientText} printable characters.`);
}

/** @throws {AuthError} `invalid_request` that names what is wrong */
export function requireValid(changes: Partial<Registration>): void {
  const registration = { ...emptyRegistration, ...changes };
  const { resource, scopes, rights, reach, redirectUris, signOutRedirectUris } = registration;
  if (resource) requireUri('resource', resource);
  for (const uri of reach) requireUri('reach', uri);
  if (reach.length > fieldLimits.serviceReach)
    throw invalidRequest(`reach: a service can reach at most ${fieldLimits.serviceReach} resources.`);
  for (const scope of scopes) requireScope(scope);
  if (scopes.length > fieldLimits.serviceScopes)
    throw invalidRequest(`scope: a service can declare at most ${fieldLimits.serviceScopes} scopes.`);
  const twice = scopes.find(({ name }, at) => scopes.findIndex((other) => other.name === name) < at);
  if (twice) throw invalidRequest(`scope: ${twice.name} appears twice.`);
  const unknown = rights.find((right) => !serviceRights.includes(right));
  if (unknown !== undefined)
    throw invalidRequest(`may: there is no right ${unknown}; the rights are ${serviceRights.join(', ')}.`);
  requireRedirects('redirect', redirectUris);
  requireRedirects('sign-out-redirect', signOutRedirectUris);
}

function requireRedirects(field: 'redirect' | 'sign-out-redirect', uris: readonly string[]): void {
  if (uris.length > fieldLimits.serviceRedirects)
    throw invalidRequest(`${field}: a service can have at most ${fieldLimits.serviceRedirects} of them.`);
  const wrong = uris.find((uri) => parseRedirectUri(uri) === undefined);
  if (wrong === undefined) return;
  const spelled = URL.parse(wrong)?.href;
  const hint =
    spelled !== undefined && parseRedirectUri(spelled) ? ` Write ${spelled} instead of ${wrong}.` : '';
  throw invalidRequest(
    `${field}: must be an https URL, or an http URL of 127.0.0.1, [::1] or localhost, without user information and fragment, of at most ${fieldLimits.redirectUri} characters.${hint}`,
  );
}

/**
 * What an OAuth client may be, once all of its parts are known.
 * @param isDevelopment whether this service itself has a loopback address
 * @throws {AuthError} `invalid_request`
 */
export function requireClient({ redirectUris, isPublic, isTrusted }: Registration, isDevelopment: boolean) {
  if ((isPublic || isTrusted) && redirectUris.length === 0)
    throw invalidRequest(
      `A ${isTrusted ? 'trusted' : 'public'} service needs a redirect URI: add --redirect.`,
    );
  if (!isTrusted) return;
  if (isPublic) throw invalidRequest('A service is either public or trusted: a trusted one needs its key.');
  if (!isDevelopment && redirectUris.some(isLoopbackRedirect))
    throw invalidRequest('The redirect URIs of a trusted service must be https, and not of a loopback host.');
}

/** Whether a service can declare this resource. */
export const isResource = (uri: string): boolean =>
  uri.length <= fieldLimits.resource && absoluteUri.test(uri) && URL.canParse(uri);

function requireUri(field: 'resource' | 'reach', uri: string): void {
  if (isResource(uri)) return;
  throw invalidRequest(
    `${field}: must be an absolute URI without a fragment, of at most ${fieldLimits.resource} characters.`,
  );
}

function requireScope({ name, sentence }: DeclaredScope): void {
  if (!scopeName.test(name)) {
    throw invalidRequest(
      `scope: a name is 1-${fieldLimits.scopeName} characters of a-z, 0-9, _, ., : and -, and starts with a letter.`,
    );
  }
  if (Object.hasOwn(ownScopes, name)) throw invalidRequest(`scope: ${name} is a scope of Latchkey itself.`);
  if (visibleText(fieldLimits.scopeSentence).safeParse(sentence).success) return;
  throw invalidRequest(
    `scope: the sentence of ${name} must be 1-${fieldLimits.scopeSentence} printable characters.`,
  );
}
