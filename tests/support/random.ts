// Random choices that a seed repeats.

/** A source of random choices. The same seed makes the same choices. */
export interface Random {
  /** A number from 0 to 1, without 1. */
  next(): number;
  /** An integer from 0 to `limit`, without `limit`. */
  below(limit: number): number;
  /** True once in `n` times on average. */
  oneIn(n: number): boolean;
  pick<T>(from: readonly T[]): T;
}

/** Mulberry32: small, fast and good enough to choose test inputs. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    next,
    below,
    oneIn: (n) => below(n) === 0,
    pick: (from) => from[below(from.length)]!,
  };
}
