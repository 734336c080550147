/** How long a key stays published after the next one took over: longer than anyone keeps a signed answer. */
export const overlapSeconds = 86_400;

/** A key as far as it decides what it is used for. `signs_from` is in milliseconds since 1970. */
export interface KeyTimes {
  readonly sequence: number;
  readonly signs_from: number;
}

/** The keys that verifiers are shown, newest first: the one that signs, those to come, and those just replaced. */
export function publishedKeys<Key extends KeyTimes>(newestFirst: readonly Key[], now: number): Key[] {
  let replacedAt = Number.POSITIVE_INFINITY;
  return newestFirst.filter((key) => {
    const published = now < replacedAt + overlapSeconds * 1000;
    replacedAt = Math.min(replacedAt, key.signs_from);
    return published;
  });
}

/** The published keys that may sign now, the best first. */
export const signingCandidates = <Key extends KeyTimes>(newestFirst: readonly Key[], now: number): Key[] =>
  publishedKeys(newestFirst, now).filter((key) => key.signs_from <= now);
