import type { Verification } from '../active-token.ts';
import type { Clock } from '../clock.ts';

interface CacheOptions {
  readonly seconds: number;
  /** The least recently used result is dropped first. */
  readonly maxEntries: number;
  readonly clock: Pick<Clock, 'now'>;
}

interface CacheEntry {
  readonly result: Verification;
  readonly from: number;
  readonly until: number;
}

/** Results for some seconds, by the hash of the token, so that a memory dump reveals no tokens. */
export class SecondsCache {
  readonly #options: CacheOptions;
  /** Least recently used first. */
  readonly #entries = new Map<string, CacheEntry>();

  constructor(options: CacheOptions) {
    this.#options = options;
  }

  set(key: string, result: Verification): void {
    const { seconds, maxEntries, clock } = this.#options;
    const from = clock.now();
    const lasts = from + seconds * 1000;
    const until = result.active ? Math.min(lasts, result.exp * 1000) : lasts;
    this.#entries.delete(key);
    if (until <= from) return;
    this.#entries.set(key, { result, from, until });
    const oldest = this.#entries.size > maxEntries ? this.#entries.keys().next().value : undefined;
    if (oldest !== undefined) this.#entries.delete(oldest);
  }

  get(key: string): Verification | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    const now = this.#options.clock.now();
    // Without `from`, setting the clock back would extend the entry.
    const isValid = entry.from <= now && now < entry.until;
    this.#entries.delete(key);
    if (!isValid) return undefined;
    this.#entries.set(key, entry);
    return entry.result;
  }
}
