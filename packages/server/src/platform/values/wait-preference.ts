/** How long a client is willing to wait for its response. @see RFC 7240 section 4.3 */
export interface WaitPreference {
  readonly seconds: number;
  /** Aborted when the client closes its connection. */
  readonly clientGone: AbortSignal;
}

/** Shorter than the read timeouts of common proxies. A longer preference counts as this one. */
const maxWaitSeconds = 25;

/** A longer header is ignored: splitting one with unbalanced quotes takes time quadratic in its length. */
const maxHeaderLength = 1_000;

/** A preference with its parameters: commas separate preferences, except in quotes. */
const preference = /(?:"(?:[^"\\]|\\.)*"|[^",])+/g;
const waitPreference = /^\s*wait\s*(?:=\s*("?)(\d*)\1\s*)?(;|$)/i;

/**
 * The seconds of the `wait` preference of a `Prefer` header; undefined if there is none or it is not a positive whole
 * number. Of several only the first counts, and every other preference is ignored.
 * @see RFC 7240 section 2
 */
export function waitSecondsOf(prefer: string | null): number | undefined {
  if (prefer === null || prefer.length > maxHeaderLength) return undefined;
  const wait = prefer.match(preference)?.find((text) => /^\s*wait\s*(?:[=;]|$)/i.test(text));
  const seconds = Math.min(Number(wait && waitPreference.exec(wait)?.[2]), maxWaitSeconds);
  return seconds > 0 ? seconds : undefined;
}
