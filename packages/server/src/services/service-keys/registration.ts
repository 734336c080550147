// What an operator registers about a service, as a whole or in part, and the rules for it: pure functions.

import { fieldLimits } from '@latchkey/contract/field-limits';
import { visibleText } from '@latchkey/contract/fields';
import { ownScopes, scopeName } from '@latchkey/contract/scopes';
import { type ServiceRight, serviceRights } from '@latchkey/contract/services';
import { AuthError } from '../../platform/errors.ts';

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
}

/** Lists are stored as text, separated by spaces. */
export const listOf = (text: string): string[] => (text === '' ? [] : text.split(' '));

/** An absolute URI without a fragment. @see RFC 3986 section 4.3, RFC 8707 section 2 */
const absoluteUri = /^[a-z][a-z0-9+.-]*:(?:[\w\-.~:/?[\]@!$&'()*+,;=]|%[0-9a-f]{2})+$/i;

const invalid = (sentence: string): AuthError => new AuthError('invalid_request', sentence);

/** @throws {AuthError} `invalid_request` for a name that is empty, too long or not visible text */
export function requireName(name: string): void {
  if (visibleText(fieldLimits.clientText).safeParse(name).success) return;
  throw invalid(`The name must be 1-${fieldLimits.clientText} printable characters.`);
}

/** @throws {AuthError} `invalid_request` that names what is wrong */
export function requireValid({
  resource,
  scopes = [],
  rights = [],
  reach = [],
}: Partial<Registration>): void {
  if (resource) requireUri('resource', resource);
  for (const uri of reach) requireUri('reach', uri);
  if (reach.length > fieldLimits.serviceReach)
    throw invalid(`reach: a service can reach at most ${fieldLimits.serviceReach} resources.`);
  for (const scope of scopes) requireScope(scope);
  if (scopes.length > fieldLimits.serviceScopes)
    throw invalid(`scope: a service can declare at most ${fieldLimits.serviceScopes} scopes.`);
  const twice = scopes.find(({ name }, at) => scopes.findIndex((other) => other.name === name) < at);
  if (twice) throw invalid(`scope: ${twice.name} appears twice.`);
  const unknown = rights.find((right) => !serviceRights.includes(right));
  if (unknown !== undefined)
    throw invalid(`may: there is no right ${unknown}; the rights are ${serviceRights.join(', ')}.`);
}

/** Whether a service can declare this resource. */
export const isResource = (uri: string): boolean =>
  uri.length <= fieldLimits.resource && absoluteUri.test(uri) && URL.canParse(uri);

function requireUri(field: 'resource' | 'reach', uri: string): void {
  if (isResource(uri)) return;
  throw invalid(
    `${field}: must be an absolute URI without a fragment, of at most ${fieldLimits.resource} characters.`,
  );
}

function requireScope({ name, sentence }: DeclaredScope): void {
  if (!scopeName.test(name)) {
    throw invalid(
      `scope: a name is 1-${fieldLimits.scopeName} characters of a-z, 0-9, _, ., : and -, and starts with a letter.`,
    );
  }
  if (Object.hasOwn(ownScopes, name)) throw invalid(`scope: ${name} is a scope of Latchkey itself.`);
  if (visibleText(fieldLimits.scopeSentence).safeParse(sentence).success) return;
  throw invalid(
    `scope: the sentence of ${name} must be 1-${fieldLimits.scopeSentence} printable characters.`,
  );
}
