import type { Notifications, Wake } from './executor.ts';

/** On SQLite this channel gets a message after every commit of this process. */
export const commitsChannel = 'commits';

/**
 * The listeners of this process. On SQLite that is the service; an operator's command is a process of its own, whose commits the
 * service finds when it looks next.
 */
export class LocalNotifications implements Notifications {
  readonly #listeners = new Map<string, Set<Wake>>();

  /** The channels that somebody has listened to. */
  get channels(): Iterable<string> {
    return this.#listeners.keys();
  }

  publish(channel: string, payload: string | undefined): void {
    for (const wake of [...(this.#listeners.get(channel) ?? [])]) wake(payload);
  }

  listen(channel: string, wake: Wake): () => void {
    const listeners = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, listeners.add(wake));
    return () => void listeners.delete(wake);
  }
}
