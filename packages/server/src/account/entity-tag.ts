/**
 * Whether an `If-Match` header holds for a strong entity tag: a star, or a list with exactly this tag. Weak
 * tags never match.
 * @see RFC 9110 section 13.1.1
 */
export const entityTagMatches = (ifMatch: string, etag: string): boolean =>
  ifMatch.trim() === '*' || ifMatch.split(',').some((tag) => tag.trim() === etag);
