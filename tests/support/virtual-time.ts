import type { Database, Executor } from '../../packages/server/src/platform/database/executor.ts';
import type { Timers } from '../../packages/server/src/platform/timers.ts';

/**
 * A clock that stands still until a test advances it, and the timers that follow it. What sleeps wakes in the order of its time.
 * A sleep that nothing can interrupt, such as a rest between two batches, takes its time at once: nobody could advance the
 * clock in the middle of it.
 */
export class VirtualTime {
  #now: number;
  #sleepers: readonly { readonly dueAt: number; readonly wake: () => void }[] = [];

  /** @param start milliseconds since 1970 */
  constructor(start: number) {
    this.#now = start;
  }

  readonly clock = (): number => this.#now;

  readonly timers: Timers = {
    monotonic: this.clock,
    sleep: (ms, signal) => {
      if (!signal) this.advance(ms);
      if (!signal || signal.aborted || ms <= 0) return Promise.resolve();
      const { promise, resolve } = Promise.withResolvers<void>();
      const sleeper = { dueAt: this.#now + ms, wake: resolve };
      this.#sleepers = [...this.#sleepers, sleeper];
      const leave = () => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        resolve();
      };
      signal.addEventListener('abort', leave);
      return promise.finally(() => signal.removeEventListener('abort', leave));
    },
  };

  /** How many sleep for at least that long. */
  sleeping(ms: number): number {
    return this.#sleepers.filter(({ dueAt }) => dueAt - this.#now >= ms).length;
  }

  advance(ms: number): void {
    this.#now += ms;
    const due = this.#sleepers.filter(({ dueAt }) => dueAt <= this.#now);
    this.#sleepers = this.#sleepers.filter(({ dueAt }) => dueAt > this.#now);
    for (const { wake } of due.toSorted((a, b) => a.dueAt - b.dueAt)) wake();
  }

  /** The database, whose own clock is this one. */
  of(db: Database): Database {
    if (db.dialect === 'sqlite') return db;
    const on = (executor: Executor): Executor => {
      const { write } = executor;
      return {
        ...executor,
        run: (text, values) => executor.run(...this.#timed(text, values)),
        ...(write && { write: (text, values) => write(...this.#timed(text, values)) }),
      };
    };
    return {
      ...db,
      read: on(db.read),
      single: on(db.single),
      transaction: (work) => db.transaction((tx) => work(on(tx))),
    };
  }

  /** The statement with the time as one more value in the place of each call of the database's clock. */
  #timed(...[text, values]: Parameters<Executor['run']>): Parameters<Executor['run']> {
    const place = `to_timestamp($${values.length + 1}::float8)`;
    const timed = text.replace(/\b(?:clock|statement)_timestamp\(\)/g, place);
    return timed === text ? [text, values] : [timed, [...values, this.#now / 1000]];
  }
}
