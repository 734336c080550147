import type { AuthorizationDetails } from '@latchkey/contract/authorization-details';
import { canonicalJson } from '../../platform/values/canonical-json.ts';

/**
 * Whether every detail equals one of the outer ones. No detail at all would allow more than any, so an empty list is only
 * within another one.
 */
export function areDetailsWithin(inner: AuthorizationDetails, outer: AuthorizationDetails): boolean {
  const allowed = new Set(outer.map(canonicalJson));
  if (allowed.size > 0 && inner.length === 0) return false;
  return allowed.size === 0 || inner.every((detail) => allowed.has(canonicalJson(detail)));
}
