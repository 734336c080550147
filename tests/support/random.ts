// Random choices that a seed repeats.

/** A source of random choices. The same seed makes the same choices. */
export type Random = ReturnType<typeof randomFrom>;

/** Mulberry32: small, fast and good enough to choose test inputs. */
export function randomFrom(seed: number) {
  let state = seed >>> 0;
  /** A number from 0 to 1, without 1. */
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  /** An integer from 0 to `limit`, without `limit`. */
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    next,
    below,
    /** True once in `n` times on average. */
    oneIn: (n: number) => below(n) === 0,
    pick: <T>(from: readonly T[]): T => from[below(from.length)]!,
  };
}
