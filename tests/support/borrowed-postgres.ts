// Databases of PostgreSQL that the apps of a process use one after the other: each deletes the rows of the one before. Connecting
// to a new database costs PostgreSQL five times what a test does in it.

import { openDatabase } from '../../packages/server/src/platform/database/database.ts';
import type {
  Database,
  DatabaseOptions,
  Executor,
} from '../../packages/server/src/platform/database/executor.ts';
import { temporarilyUnavailable } from '../../packages/server/src/platform/errors.ts';
import { newDatabase } from './new-database.ts';

export type Borrower = Required<Pick<DatabaseOptions, 'log' | 'onStatement' | 'timers'>>;

interface Lent {
  readonly url: string;
  readonly db: Database;
  /** Deletes every row and sets the sequences back to what the schema starts with. */
  readonly reset: string;
  borrower: Borrower;
  uses: number;
}

/** Deleted rows stay in their tables. */
const maxUses = 100;
/** What leaves nothing behind but rows. */
const leavesOnlyRows = /^\s*(?:select|with|insert|update|delete)\b/i;
/** Rows of the schema itself, which a reset leaves. */
const ofSchema = ['kysely_migration', 'kysely_migration_lock', 'address_locks', 'restore_guard'];
const writesSchema = new RegExp(`(?:into|update|from)\\s+"?(?:${ofSchema.join('|')})\\b(?!.*\\bfor\\b)`, 'i');

const idle: Lent[] = [];

async function lend(borrower: Borrower, options: Partial<DatabaseOptions>): Promise<Lent> {
  for (let lent = idle.pop(); lent; lent = idle.pop()) {
    // A test may have restarted the server, which breaks the connections.
    const isReset = await lent.db.single.run(lent.reset, []).then(
      () => true,
      () => false,
    );
    if (isReset) return Object.assign(lent, { borrower });
    void lent.db.close();
  }
  const url = await newDatabase('postgres');
  const made: { lent?: Lent } = {};
  const current = () => made.lent?.borrower ?? borrower;
  const db = await openDatabase(url, {
    ...options,
    asIs: true,
    log: { warn: (...entry: [object]) => current().log.warn(...entry) },
    onStatement: (text) => current().onStatement(text),
    timers: {
      monotonic: () => current().timers.monotonic(),
      sleep: (...pause) => current().timers.sleep(...pause),
    },
  });
  made.lent = { url, db, borrower, reset: await resetOf(db), uses: 0 };
  return made.lent;
}

async function resetOf(db: Database): Promise<string> {
  const relations = await db.read.run<{ name: string; kind: string }>(
    `SELECT relname AS name, relkind AS kind FROM pg_class
     WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'S')`,
    [],
  );
  const tables = relations.filter(({ name, kind }) => kind === 'r' && !ofSchema.includes(name));
  const deletions = tables.map(({ name }) => `"${name}_rows" AS (DELETE FROM "${name}")`);
  const restarts: string[] = [];
  for (const { name, kind } of relations) {
    if (kind !== 'S') continue;
    const [state] = await db.read.run<{ last_value: number; is_called: boolean }>(
      `SELECT last_value, is_called FROM "${name}"`,
      [],
    );
    restarts.push(`setval('"${name}"', ${state!.last_value}, ${state!.is_called})`);
  }
  return `WITH ${deletions.join(', ')} SELECT ${restarts.join(', ')}`;
}

/** A database without rows. Closing it waits for what runs; the next app deletes the rows. */
export async function borrowPostgres(borrower: Borrower, options: Partial<DatabaseOptions>) {
  let isClean = true;
  let isClosed = false;
  const lent = await lend(
    {
      ...borrower,
      onStatement: (text) => {
        if (!leavesOnlyRows.test(text) || writesSchema.test(text)) isClean = false;
        borrower.onStatement(text);
      },
    },
    options,
  );
  const { url, db } = lent;
  const running = new Set<Promise<unknown>>();
  const ends: (() => void)[] = [];
  const track = <T>(work: () => Promise<T>): Promise<T> => {
    if (isClosed) return Promise.reject(temporarilyUnavailable(new Error('the app is closed')));
    const done = work();
    running.add(done);
    const leave = () => void running.delete(done);
    done.then(leave, leave);
    return done;
  };
  const single: Executor = { ...db.single, run: (text, values) => track(() => db.single.run(text, values)) };
  return {
    url,
    /** Another app, or the test itself, connects to it: no later app uses it. */
    share: () => {
      if (isClean && isClosed) {
        const at = idle.indexOf(lent);
        if (at < 0)
          throw new Error('another app uses the database now: take its address before closing the app');
        idle.splice(at, 1);
        void db.close();
      }
      isClean = false;
    },
    db: {
      dialect: db.dialect,
      read: single,
      single,
      transaction: (work) => track(() => db.transaction(work)),
      notifications: {
        publish: (channel, payload) => void (isClosed || db.notifications.publish(channel, payload)),
        listen: (channel, wake) => {
          const end = db.notifications.listen(channel, wake);
          ends.push(end);
          return end;
        },
      },
      close: async () => {
        if (isClosed) return;
        isClosed = true;
        for (const end of ends) end();
        if (!isClean || ++lent.uses === maxUses) return db.close();
        while (running.size > 0) await Promise.allSettled(running);
        lent.borrower = { ...borrower, onStatement: () => undefined };
        idle.push(lent);
      },
    } satisfies Database,
  };
}
