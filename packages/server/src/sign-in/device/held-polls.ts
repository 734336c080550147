import type { Context } from '../../platform/context.ts';
import { repeat } from '../../platform/timers.ts';
import * as store from './store.ts';

/** The channel on which a node tells the others that the user has approved or denied a device, by authorization id. */
const decisionsChannel = 'latchkey_device_decisions';

/** How often the decisions are looked up in the database, in case a notification was lost. */
const lookupIntervalMs = 5_000;

/** Why a held poll continues. */
type Wakening = 'decided' | 'elapsed' | 'client_gone' | 'stopping';

/** Notices decisions about one authorization from the moment it is created, so that none falls between a read and a wait. */
interface Watch {
  /** Resolves with the first reason to continue: a decision since the last call, or the end of the wait. */
  next(ms: number, clientGone: AbortSignal): Promise<Wakening>;
  end(): void;
}

/** The polls that wait for a decision on this node. While they wait, none of them runs a statement or holds a connection. */
export interface HeldPolls {
  watch(authorizationId: string): Watch;
  /** Tells every node that an authorization was approved or denied, once that is committed. */
  announce(authorizationId: string): void;
}

/** Starts to listen with the first watch. Until then it costs nothing. */
export function openHeldPolls(ctx: Context): HeldPolls {
  const { notifications, dialect, read } = ctx.db;
  const watched = new Map<string, Set<PollWatch>>();
  let isListening = false;
  /** Aborted when no poll is waiting. */
  let lookups: AbortController | undefined;

  const wake = (id: string) => {
    for (const watch of watched.get(id) ?? []) watch.wake('decided');
  };
  const lookUp = async () => {
    if (watched.size === 0) return;
    const decided = await store.findDecided(read, { ids: JSON.stringify([...watched.keys()]) });
    for (const { id } of decided) wake(id);
  };
  const lookUpSafely = () => lookUp().catch(() => ctx.log.warn('the lookup of decisions failed'));

  const start = () => {
    if (!isListening) {
      isListening = true;
      notifications.listen(decisionsChannel, (id) => void (id === undefined ? lookUpSafely() : wake(id)));
      ctx.stopping.addEventListener('abort', () => {
        for (const watches of watched.values()) for (const watch of watches) watch.wake('stopping');
      });
    }
    // On SQLite every decision is made in this process, so no notification can be lost.
    if (dialect === 'sqlite' || lookups) return;
    lookups = new AbortController();
    void repeat(ctx.timers, lookupIntervalMs, lookups.signal, lookUpSafely);
  };

  const end = (id: string, watch: PollWatch) => {
    const watches = watched.get(id);
    watches?.delete(watch);
    if (watches?.size === 0) watched.delete(id);
    if (watched.size > 0) return;
    lookups?.abort();
    lookups = undefined;
  };

  return {
    announce: (id) => notifications.publish(decisionsChannel, id),
    watch: (id) => {
      const watch = new PollWatch(ctx, () => end(id, watch));
      watched.set(id, (watched.get(id) ?? new Set()).add(watch));
      start();
      return watch;
    },
  };
}

class PollWatch implements Watch {
  readonly #timers: Context['timers'];
  readonly end: () => void;
  #missed: Wakening | undefined;
  #resolve: ((wakening: Wakening) => void) | undefined;

  constructor({ stopping, timers }: Context, end: () => void) {
    this.#timers = timers;
    this.end = end;
    if (stopping.aborted) this.#missed = 'stopping';
  }

  wake(wakening: Wakening): void {
    if (this.#resolve) this.#resolve(wakening);
    else if (this.#missed !== 'stopping') this.#missed = wakening;
  }

  next(ms: number, clientGone: AbortSignal): Promise<Wakening> {
    const missed = clientGone.aborted ? 'client_gone' : this.#missed;
    this.#missed = undefined;
    if (missed) return Promise.resolve(missed);
    return new Promise((resolve) => {
      const woken = new AbortController();
      const leave = () => this.#resolve?.('client_gone');
      clientGone.addEventListener('abort', leave, { once: true });
      this.#resolve = (wakening) => {
        this.#resolve = undefined;
        woken.abort();
        clientGone.removeEventListener('abort', leave);
        resolve(wakening);
      };
      void this.#timers.sleep(ms, woken.signal).then(() => {
        if (!woken.signal.aborted) this.#resolve?.('elapsed');
      });
    });
  }
}
