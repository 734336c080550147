/** Whether `If-Match`, `*` or a list, holds for a strong tag. Weak tags never match. @see RFC 9110 section 13.1.1 */
export const ifMatchHolds = (ifMatch: string, etag: string): boolean =>
  ifMatch.trim() === '*' || ifMatch.split(',').some((tag) => tag.trim() === etag);

/** Whether `If-None-Match` contains this tag, weakened on its way or not. @see RFC 9110 section 13.1.2 */
export const ifNoneMatchIncludes = (ifNoneMatch: string, etag: string): boolean =>
  ifMatchHolds(ifNoneMatch.replaceAll(/(^|,)\s*W\//g, '$1'), etag);
