import postgres from 'postgres';

/** `postgres://user:password@`, the hosts with their ports, and the database with its options. */
const parts = /^(postgres(?:ql)?:\/\/(?:[^/?@]*@)?)([^/?]*)(.*)$/;

/** The addresses of the servers that a URL names, as `postgres://…@one:5432,two:5432/database` does. */
export function postgresServers(url: string): readonly string[] {
  const [, start = '', hosts = '', rest = ''] = parts.exec(url) ?? [];
  return hosts.includes(',') ? hosts.split(',').map((host) => start + host + rest) : [url];
}

const connectTimeoutSeconds = 2;
const closeTimeoutSeconds = 1;

/** The minimum time between two searches, so that a standby about to be promoted is not kept busy. */
const searchPauseMs = 250;

/** SQLSTATE: the server, or the connection, accepts reads only. */
const readOnly = '25006';

/** Refuses a standby, whose data may be outdated. The driver's `read-write` would accept it. */
export const onlyPrimary = { target_session_attrs: 'primary' } as const;

/** For a few statements, through a pooler, too. */
export const withoutPreparation = { prepare: false, fetch_types: false } as const;

const int8Type = 20;

/** Reads BIGINT as a number: no value that is stored needs more than 53 bits. */
export const int8AsNumber = { to: int8Type, from: [int8Type], serialize: String, parse: Number };

type Options = postgres.Options<Record<string, postgres.PostgresType>>;

/** Lets `work` use a connection of its own to the primary, without the time limits of the service. */
export const withConnection = async <T>(
  url: string,
  options: Options,
  work: (sql: postgres.Sql) => Promise<T>,
): Promise<T> => withServer(await findPrimary(url), options, work);

async function withServer<T>(server: string, options: Options, work: (sql: postgres.Sql) => Promise<T>) {
  const sql = postgres(server, {
    max: 1,
    connect_timeout: connectTimeoutSeconds,
    onnotice: () => undefined,
    types: { int8: int8AsNumber },
    ...options,
  });
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout: closeTimeoutSeconds });
  }
}

/** The primary among several servers; a single one is not checked. @throws {Error} if none is one */
export async function findPrimary(url: string): Promise<string> {
  const servers = postgresServers(url);
  if (servers.length === 1) return url;
  return Promise.any(servers.map(requirePrimary)).catch(({ errors }: AggregateError) => {
    const reasons = errors.map((error: Error) => error.message).join(', ');
    throw Object.assign(new Error(`none of the servers accepts writes (${reasons})`), {
      code: 'CONNECTION_WITHOUT_PRIMARY',
    });
  });
}

const requirePrimary = (server: string): Promise<string> =>
  withServer(server, { ...onlyPrimary, ...withoutPreparation }, async (sql) => {
    const [row] = await sql.unsafe<{ read_only: string }[]>(
      "SELECT current_setting('transaction_read_only') AS read_only",
    );
    // A former primary that was cut off from its standby may be set so.
    if (row?.read_only !== 'off') throw new Error('it accepts reads only');
    return server;
  });

/** The connections to the primary. After a failure it looks whether another server has become that. */
export class PrimaryPool {
  readonly #url: string;
  readonly #open: (server: string) => postgres.Sql;
  readonly #onReplace: () => void;
  #server: string;
  #sql: postgres.Sql;
  #isSearching = false;
  #isClosed = false;

  /** @param server what `findPrimary` found for the URL */
  constructor(url: string, server: string, open: (server: string) => postgres.Sql, onReplace: () => void) {
    this.#url = url;
    this.#onReplace = onReplace;
    this.#server = server;
    this.#open = open;
    this.#sql = open(server);
  }

  get sql(): postgres.Sql {
    return this.#sql;
  }

  /** Reports that the server could not be used with these connections. */
  failed(sql: postgres.Sql, code: string): void {
    if (sql !== this.#sql || this.#isSearching || this.#isClosed) return;
    this.#isSearching = true;
    void this.#search(code).finally(() => {
      this.#isSearching = false;
    });
  }

  /**
   * Reports that one of these connections was closed while it was in use. All of them are replaced, because
   * the driver fails the next statement with the error that the server sent before it closed the connection.
   */
  closed(sql: postgres.Sql): void {
    if (sql === this.#sql) this.#replace(this.#server);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#sql.end({ timeout: closeTimeoutSeconds });
  }

  /** A read-only connection may remain so, and its data may be outdated, so all connections are replaced. */
  async #search(code: string): Promise<void> {
    const found = await findPrimary(this.#url).catch(() => undefined);
    if (found !== undefined && (found !== this.#server || code === readOnly)) this.#replace(found);
    await Bun.sleep(searchPauseMs);
  }

  #replace(server: string): void {
    if (this.#isClosed) return;
    const former = this.#sql;
    this.#server = server;
    this.#sql = this.#open(server);
    this.#onReplace();
    // Work in flight fails by itself, or ends.
    void former.end({ timeout: closeTimeoutSeconds }).catch(() => undefined);
  }
}
