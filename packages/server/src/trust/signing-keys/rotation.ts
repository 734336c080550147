import type { Tables } from '../../platform/database/schema.ts';

/**
 * How long a replaced key stays published, so that the responses and events it signed can still be verified: as long as
 * events are kept.
 */
export const overlapSeconds = 7 * 86_400;

/** What decides whether a key is published and signs, in milliseconds since 1970. */
type KeyTimes = Pick<Tables['signing_keys'], 'signs_from'>;

/** The keys to publish, newest first: the signing key, upcoming keys, and keys replaced less than the overlap ago. */
export function publishedKeys<Key extends KeyTimes>(newestFirst: readonly Key[], now: number): Key[] {
  let replacedAt = Number.POSITIVE_INFINITY;
  return newestFirst.filter((key) => {
    const isPublished = now < replacedAt + overlapSeconds * 1000;
    replacedAt = Math.min(replacedAt, key.signs_from);
    return isPublished;
  });
}

/** The published keys that may sign now, the preferred one first. */
export const signingCandidates = <Key extends KeyTimes>(newestFirst: readonly Key[], now: number): Key[] =>
  publishedKeys(newestFirst, now).filter((key) => key.signs_from <= now);
