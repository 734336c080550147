/** The script of this page. Its name changes with its content, and so in a release that may keep other outcomes. */
const build = [...document.scripts].findLast(({ type }) => type === 'module')?.src;

/** Keeps an outcome, without secrets, in this history entry for a reload. @param path its URL from now on */
export const keepOutcome = (outcome: object, path: string): void =>
  history.replaceState({ outcome, build }, '', path);

/** What the same build of this page kept. */
export function keptOutcome<Outcome>(): Outcome | undefined {
  const kept = history.state as { outcome: Outcome; build?: unknown } | null;
  return kept?.build === build ? kept?.outcome : undefined;
}
