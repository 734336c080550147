/**
 * Whether an `If-Match` header holds for a strong entity tag: a star, or a list with exactly this tag. Weak
 * tags never match.
 * @see RFC 9110 section 13.1.1
 */
export const ifMatchHolds = (ifMatch: string, etag: string): boolean =>
  ifMatch.trim() === '*' || ifMatch.split(',').some((tag) => tag.trim() === etag);

/**
 * Whether an `If-None-Match` header names this state, so that the caller has it already. A tag counts as weak
 * or strong alike: caches and proxies on the way may have weakened it.
 * @see RFC 9110 section 13.1.2
 */
export const ifNoneMatchIncludes = (ifNoneMatch: string, etag: string): boolean =>
  ifMatchHolds(ifNoneMatch.replaceAll(/(^|,)\s*W\//g, '$1'), etag);
