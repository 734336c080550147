import { fieldLimits } from '@latchkey/contract/field-limits';

/** The token in this page's URL fragment; undefined unless it is complete and starts with `prefix`. */
export function tokenFromLink(prefix: string): string | undefined {
  const token = new URLSearchParams(location.hash.slice(1)).get('token') ?? '';
  const isComplete =
    token.startsWith(prefix) && token.length > prefix.length && token.length <= fieldLimits.token;
  return isComplete ? token : undefined;
}

/** The script of this page. Its name changes with its content, and so in a release that may keep other outcomes. */
const build = [...document.scripts].findLast(({ type }) => type === 'module')?.src;

/**
 * Removes the token from the URL once it has been used or declined; until then a reload must still find it. Keeps the
 * outcome in the history entry, so that a reload shows it again.
 */
export const closeLink = (outcome: object): void =>
  history.replaceState({ outcome, build }, '', location.pathname);

/** What `closeLink` of the same build of this page stored. */
export function linkOutcome<Outcome>(): Outcome | undefined {
  const stored = history.state as { outcome: Outcome; build?: unknown } | null;
  return stored?.build === build ? stored?.outcome : undefined;
}

// Opening a second link in the same tab changes only the fragment, which does not reload the page.
window.addEventListener('hashchange', () => location.reload());
