// Without schemas, so that pages can import it.

import { fieldLimits } from './field-limits.ts';

/** The scope of a token that may do everything its user may. */
export const everything = '*';

/** Requested by standard clients, and allow nothing more. */
export const emptyScopes: readonly string[] = ['openid', 'offline_access'];

/** A scope name. @see RFC 6749 section 3.3 */
export const scopeName = /^[a-z][a-z0-9_.:-]{0,63}$/;

/** The names in a scope; undefined if it is empty, malformed or too long. @see RFC 6749 section 3.3 */
export function parseScope(scope: string): readonly string[] | undefined {
  const names = scope.split(' ');
  if (names.length > fieldLimits.scopes) return undefined;
  const isWellFormed = names.every((name) => name === everything || scopeName.test(name));
  return isWellFormed ? [...new Set(names)] : undefined;
}

/** Whether a scope in its normal form holds everything the user may do. */
export const holdsEverything = (scope: string): boolean => scope.startsWith(everything);

/** Names that everything does not include: they ask for an identity. */
export const onlyByName: readonly string[] = ['openid', 'identity'];

/** The normal form of a scope with these names: everything stands for all others that it includes. */
export const joinScope = (names: readonly string[]): string =>
  (names.includes(everything)
    ? [everything, ...onlyByName.filter((name) => names.includes(name))]
    : names
  ).join(' ');

const holds = (scope: string, name: string): boolean =>
  (holdsEverything(scope) && !onlyByName.includes(name)) || scope.split(' ').includes(name);

/** Whether a scope includes at least one of these names. */
export const includesAny = (scope: string, names: readonly string[]): boolean =>
  names.some((name) => holds(scope, name));

/** Whether every name of one scope is in the other. */
export const isWithin = (inner: string, outer: string): boolean =>
  inner.split(' ').every((name) => holds(outer, name));

/** Whether two scopes in their normal form hold the same names, in any order. */
export const isSameScope = (one: string, other: string): boolean => sorted(one) === sorted(other);

const sorted = (scope: string): string => scope.split(' ').sort().join(' ');

/** The canonical one first: without a path, a final slash does not matter. @see RFC 3986 section 6.2.3 */
export function spellingsOf(resource: string): readonly [string, ...string[]] {
  const [, origin] = /^([a-z][a-z0-9+.-]*:\/\/[^/?#]+)\/?$/i.exec(resource) ?? [];
  return origin === undefined ? [resource] : [origin, `${origin}/`];
}

/** Whether two texts name the same resource. Null names none. */
export const isSameResource = (one: string, other: string | null): boolean =>
  other !== null && spellingsOf(one)[0] === spellingsOf(other)[0];
