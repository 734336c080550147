import type { Context } from '../../platform/context.ts';
import { repeat } from '../../platform/timers.ts';
import * as store from './store.ts';

/** The channel on which a node tells the others which device was approved or denied. */
const decisionsChannel = 'latchkey_device_decisions';

/** How often the decisions are looked up in the database, in case a notification was lost. */
const lookupIntervalMs = 5_000;

/** Why a held poll continues. */
type Wakening = 'decided' | 'elapsed' | 'client_gone' | 'stopping';

type Wake = () => void;

export type HeldPolls = ReturnType<typeof openHeldPolls>;

/**
 * The polls that wait for a decision on this node. While they wait, none of them runs a statement or holds a
 * connection. The node starts to listen with the first watch; until then, this costs nothing.
 */
export function openHeldPolls(ctx: Context) {
  const { notifications, dialect, read } = ctx.db;
  const watched = new Map<string, Set<Wake>>();
  let isListening = false;
  /** Aborted when no poll is waiting. */
  let lookups: AbortController | undefined;

  const wakeAll = (id: string) => {
    for (const wake of watched.get(id) ?? []) wake();
  };
  const lookUp = async () => {
    if (watched.size === 0) return;
    const decided = await store.findDecided(read, { ids: JSON.stringify([...watched.keys()]) });
    for (const { id } of decided) wakeAll(id);
  };
  const lookUpSafely = () => lookUp().catch(() => ctx.log.warn('the lookup of decisions failed'));

  const start = () => {
    if (!isListening) {
      isListening = true;
      notifications.listen(decisionsChannel, (id) => void (id === undefined ? lookUpSafely() : wakeAll(id)));
      ctx.stopping.addEventListener('abort', () => {
        for (const id of watched.keys()) wakeAll(id);
      });
    }
    // On SQLite every decision is made in this process, so no notification can be lost.
    if (dialect === 'sqlite' || lookups) return;
    lookups = new AbortController();
    void repeat(ctx.timers, lookupIntervalMs, lookups.signal, lookUpSafely);
  };

  const end = (id: string, wake: Wake) => {
    const wakes = watched.get(id);
    wakes?.delete(wake);
    if (wakes?.size === 0) watched.delete(id);
    if (watched.size > 0) return;
    lookups?.abort();
    lookups = undefined;
  };

  return {
    /** Tells every node that an authorization was approved or denied, once that is committed. */
    announce: (id: string) => notifications.publish(decisionsChannel, id),
    /** Watches for decisions from now on, so that none is missed between a read and a wait. */
    watch: (id: string) => {
      let woken = new AbortController();
      const wake = () => woken.abort();
      watched.set(id, (watched.get(id) ?? new Set()).add(wake));
      start();
      /** Resolves with the reason to continue: a decision since the last call, or the end of the wait. */
      const next = async (ms: number, clientGone: AbortSignal): Promise<Wakening> => {
        if (clientGone.aborted || ctx.stopping.aborted) wake();
        clientGone.addEventListener('abort', wake, { once: true });
        await ctx.timers.sleep(ms, woken.signal);
        clientGone.removeEventListener('abort', wake);
        if (clientGone.aborted) return 'client_gone';
        if (ctx.stopping.aborted) return 'stopping';
        if (!woken.signal.aborted) return 'elapsed';
        woken = new AbortController();
        return 'decided';
      };
      return { next, end: () => end(id, wake) };
    },
  };
}
