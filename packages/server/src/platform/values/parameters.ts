/**
 * A form parameter without a value counts as omitted, except those that make tokens narrower: leaving them out would issue
 * a token that may do everything to a client that meant to ask for less.
 * @see RFC 6749 sections 3.1 and 3.2
 */
export const withoutEmpty = <Value>(members: Readonly<Record<string, Value>>): Record<string, Value> =>
  Object.fromEntries(
    Object.entries(members).filter(([name, value]) => value !== '' || narrowing.includes(name)),
  );

const narrowing: readonly string[] = ['scope', 'resource', 'authorization_details'];

const maxPrintedLength = 64;

/** A client's member name, safe to quote in an error description. */
export const printable = (name: string): string => name.replace(/[^\w.-]/g, '?').slice(0, maxPrintedLength);
