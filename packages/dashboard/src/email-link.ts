import { fieldLimits } from '@latchkey/contract/field-limits';

/** The token in the fragment of this page's address; none where it is not a whole one of the kind of `prefix`. */
export function tokenFromLink(prefix: string): string | undefined {
  const token = new URLSearchParams(location.hash.slice(1)).get('token') ?? '';
  const isWhole =
    token.startsWith(prefix) && token.length > prefix.length && token.length <= fieldLimits.token;
  return isWhole ? token : undefined;
}

/**
 * Takes the token out of the address, once it has been used or declined; until then a reload must find it there.
 * What came of it stays in its place, for a reload to show.
 */
export const closeLink = (outcome: object): void => history.replaceState(outcome, '', location.pathname);

/** What `closeLink` has left, perhaps in an earlier release of the same page: nothing is sure of it. */
export const linkOutcome = (): Readonly<Record<string, unknown>> =>
  typeof history.state === 'object' && history.state !== null ? history.state : {};

// A second link opened in the same tab changes nothing but the fragment.
window.addEventListener('hashchange', () => location.reload());
