import postgres from 'postgres';
import type { DatabaseOptions, Notifications, Wake } from './executor.ts';
import { findPrimary, onlyPrimary } from './postgres-primary.ts';
import { LocalNotifications } from './sqlite.ts';

const connectTimeoutSeconds = 2;
const reconnectPauseMs = 250;

/** What PostgreSQL calls the connection that each process of the service listens on. */
export const listenerName = 'latchkey listener';

/** An open connection; `lost` resolves when it is lost or given up. */
interface Listening {
  readonly sql: postgres.Sql;
  readonly lost: Promise<void>;
  giveUp(): void;
}

/**
 * LISTEN and NOTIFY over one connection, opened with the first listener and reopened when it is lost. This
 * node delivers its own messages directly, so a lost one delays only others.
 * @see https://www.postgresql.org/docs/current/sql-notify.html
 */
export class PostgresNotifications implements Notifications {
  readonly #url: string;
  readonly #log: DatabaseOptions['log'];
  readonly #send: (channel: string, payload: string) => Promise<unknown>;
  readonly #local = new LocalNotifications();
  /** Channels that the open connection listens to. */
  readonly #listened = new Set<string>();
  #listening: Listening | undefined;
  #running: Promise<void> | undefined;
  #closed = false;

  constructor(
    url: string,
    log: DatabaseOptions['log'],
    send: (channel: string, payload: string) => Promise<unknown>,
  ) {
    this.#url = url;
    this.#log = log;
    this.#send = send;
  }

  publish(channel: string, payload: string): void {
    this.#local.publish(channel, payload);
    this.#send(channel, payload).catch(() => this.#log.warn('a notification to other nodes was lost'));
  }

  listen(channel: string, wake: Wake): () => void {
    const end = this.#local.listen(channel, wake);
    this.#running ??= this.#keepListening();
    if (this.#listened.has(channel)) wake(undefined);
    else if (this.#listening) this.#listenTo(this.#listening.sql, channel).catch(() => undefined);
    return end;
  }

  /** Connects anew, because another server has become the primary. */
  reconnect(): void {
    this.#listening?.giveUp();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#listening?.giveUp();
    await this.#listening?.sql.end({ timeout: 0 });
    await this.#running;
  }

  async #keepListening(): Promise<void> {
    let isOut = false;
    while (!this.#closed) {
      try {
        const server = await findPrimary(this.#url);
        if (this.#closed) return;
        const listening = this.#open(server);
        this.#listening = listening;
        // Not as a parameter of the connection, which the URL could replace: commands notice a service by it.
        await listening.sql.unsafe(`SET application_name = '${listenerName}'`);
        for (const channel of this.#local.channels) await this.#listenTo(listening.sql, channel);
        isOut = false;
        await listening.lost;
      } catch {
        if (!this.#closed && !isOut) this.#log.warn('the database accepts no listening connection');
        isOut = true;
      }
      const { sql } = this.#listening ?? {};
      this.#listening = undefined;
      this.#listened.clear();
      await sql?.end({ timeout: 0 }).catch(() => undefined);
      if (!this.#closed) await Bun.sleep(reconnectPauseMs);
    }
  }

  #open(server: string): Listening {
    const { promise: lost, resolve: giveUp } = Promise.withResolvers<void>();
    const options = {
      ...onlyPrimary,
      max: 1,
      connect_timeout: connectTimeoutSeconds,
      max_lifetime: null,
      fetch_types: false,
      onclose: () => giveUp(),
      // Passed on to the connection, although the type does not list it. `sql.listen()` uses it, but gives up
      // when the database refuses the first attempt to reconnect.
      onnotify: (channel: string, payload: string) => this.#local.publish(channel, payload),
    };
    return { sql: postgres(server, options), lost, giveUp };
  }

  async #listenTo(sql: postgres.Sql, channel: string): Promise<void> {
    await sql.unsafe(`LISTEN "${channel}"`);
    this.#listened.add(channel);
    this.#local.publish(channel, undefined);
  }
}
