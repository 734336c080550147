/** A user agent without its version numbers, which change with every update. */
export const programOf = (userAgent: string | null): string => (userAgent ?? '').replace(/[\d._]+/g, '');
