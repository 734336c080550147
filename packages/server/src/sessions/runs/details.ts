import type { AuthorizationDetails } from '@latchkey/contract/authorization-details';

/**
 * A JSON value as text that is the same for equal values: members in the order of their names. Built as text, since a member
 * named `__proto__` would get lost in an object.
 */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(',')}}`;
}

/**
 * Whether every detail equals one of the outer ones. No detail at all would allow more than any, so an empty list is only
 * within another one.
 */
export function areDetailsWithin(inner: AuthorizationDetails, outer: AuthorizationDetails): boolean {
  const allowed = new Set(outer.map(canonicalJson));
  if (allowed.size > 0 && inner.length === 0) return false;
  return allowed.size === 0 || inner.every((detail) => allowed.has(canonicalJson(detail)));
}
