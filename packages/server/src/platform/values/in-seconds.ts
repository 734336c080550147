/** A time on the wire of tokens: whole seconds since 1970. */
export const inSeconds = (ms: number): number => Math.floor(ms / 1000);

/**
 * The `expires_in` of a token that expires at this time. Rounded, because the clock of the node that set the end may be ahead by
 * milliseconds: rounding up would promise more than the whole lifetime.
 */
export const expiresIn = (endsAt: number, now: number): number =>
  Math.max(0, Math.round((endsAt - now) / 1000));
