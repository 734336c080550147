/** A time on the wire of tokens: whole seconds since 1970. */
export const inSeconds = (ms: number): number => Math.floor(ms / 1000);
