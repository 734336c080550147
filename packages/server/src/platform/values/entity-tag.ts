/** Whether the header is `*` or lists this tag. Weak tags never match. @see RFC 9110 section 13.1.1 */
export const ifMatchHolds = (ifMatch: string, etag: string): boolean =>
  ifMatch.trim() === '*' || ifMatch.split(',').some((tag) => tag.trim() === etag);

/**
 * Whether an `If-None-Match` header contains this entity tag, so that the client already has this version.
 * The comparison is weak, because caches and proxies may have weakened the tag.
 * @see RFC 9110 section 13.1.2
 */
export const ifNoneMatchIncludes = (ifNoneMatch: string, etag: string): boolean =>
  ifMatchHolds(ifNoneMatch.replaceAll(/(^|,)\s*W\//g, '$1'), etag);
