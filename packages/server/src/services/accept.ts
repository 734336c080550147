const qualityOf = (accept: string, type: string): number | undefined => {
  for (const range of accept.split(',')) {
    const [name, ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    if (name !== type) continue;
    const quality = parameters.find((parameter) => parameter.startsWith('q='));
    return quality === undefined ? 1 : Number(quality.slice(2)) || 0;
  }
  return undefined;
};

/** Whether an `Accept` header names this media type, and does not like JSON better. @see RFC 9110 section 12.5.1 */
export function asksFor(accept: string | null, type: string): boolean {
  const quality = qualityOf(accept ?? '', type) ?? 0;
  return quality > 0 && quality >= (qualityOf(accept ?? '', 'application/json') ?? 0);
}
