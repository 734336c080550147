// How commands open the store: its database, and the keys that belong to it.

import { dirname } from 'node:path';
import { type Config, sqliteFileOf, storeNameOf } from '../platform/config/config.ts';
import { ConfigError } from '../platform/config/config-error.ts';
import type { Environment } from '../platform/config/environment.ts';
import { keyFilePath, lacksKeys, readKeys, readLogKeys } from '../platform/config/server-keys.ts';
import type { Context } from '../platform/context.ts';
import {
  openDatabase,
  openExistingDatabase,
  reachDeadlineMs,
  whenReachable,
} from '../platform/database/database.ts';
import type { Database, DatabaseOptions, Executor } from '../platform/database/executor.ts';
import { areDifferent } from '../platform/database/inspect.ts';
import { isOutOfReach } from '../platform/database/postgres.ts';
import { lockStore, showServing } from '../platform/database/store-lock.ts';
import { isUnfinishedRestore } from '../platform/database/stored-rows.ts';
import type { Log } from '../platform/telemetry/log.ts';
import { codeOf, reasonOf } from '../platform/telemetry/redact.ts';
import { systemTimers } from '../platform/timers.ts';
import { findMissingSealKey } from '../security-log/events/auditing.ts';
import type { CommandIo, Restoring } from './commands.ts';

type Keys = Pick<Context, 'keys' | 'logKeys'>;

export interface Store {
  readonly db: Database;
  readonly keys: Keys;
}

/** How long PostgreSQL may work on a statement of an operator's command: `keys list` reads the whole security log. */
const operatorStatementTimeoutMs = 10 * 60_000;

/**
 * For `serve`: opens the database with its keys, and brings it up to date. Creates both if they are missing, but no keys for a database
 * that had others. Holds the lock of a SQLite file; on PostgreSQL commands notice by a connection that this process serves.
 * @throws {ConfigError}
 */
export async function openForService(config: Config, log: Log, io: CommandIo): Promise<Store> {
  const existing = lacksKeys(config, io.env) ? undefined : loadKeys(config, io.env);
  claimFile(config);
  const db = await openMigrated(config, log, io);
  showServing(db);
  return withKeys(config, io, db, existing);
}

/** For `migrate`: creates the database or updates it, also a restored one. @throws {ConfigError} */
export async function migrateStore(config: Config, log: Log, io: CommandIo): Promise<void> {
  const isSqlite = sqliteFileOf(config) !== undefined;
  const existing = isSqlite && !lacksKeys(config, io.env) ? loadKeys(config, io.env) : undefined;
  const db = await openMigrated(config, log, io);
  if (isSqlite && !(await isUnfinishedRestore(db.read))) await withKeys(config, io, db, existing);
  await db.close();
}

/**
 * For other commands: opens an existing database with its keys, whether or not the service is running. Only `finish-restore` may open
 * one that was restored, under any keys, while no service uses the file.
 * @throws {ConfigError}
 */
export async function openForCommand(
  config: Config,
  log: Log,
  { env, output }: CommandIo,
  restoring?: Restoring,
): Promise<Store> {
  const options = { log, statementTimeoutMs: operatorStatementTimeoutMs };
  // A pooler would ignore the timeout.
  const url = config.databaseDirectUrl ?? config.databaseUrl;
  const db = await openExistingDatabase(url, options).catch((error: Error) => {
    throw unopened(config, error);
  });
  try {
    if (restoring) claimFile(config);
    const create = restoring?.anyKeys === true && lacksKeys(config, env);
    const keys = loadKeys(config, env, { create });
    if (create) output.say(`Created the key file ${keyFilePath(config)}. Keep a copy of it.`);
    if (!restoring) await requireUsable(config, db.read, keys);
    return { db, keys };
  } catch (error) {
    await db.close();
    throw error;
  }
}

/** @throws {ConfigError} when there are no keys or they are not valid */
export function loadKeys(config: Config, env: Environment, { create = false } = {}): Keys {
  const keys = readKeys(config, { create, env });
  return { keys, logKeys: readLogKeys(keys, env) };
}

async function withKeys(config: Config, { env }: CommandIo, db: Database, existing: Keys | undefined) {
  try {
    await requireUsable(config, db.read, existing);
    return { db, keys: existing ?? loadKeys(config, env, { create: true }) };
  } catch (error) {
    await db.close();
    throw error;
  }
}

/** Waits for a database that is out of reach, for example because it is starting as well, and says once why. */
const openMigrated = (config: Config, log: Log, { output }: CommandIo): Promise<Database> =>
  whenReachable(
    systemTimers,
    async () => {
      const wrong = await wrongDirectUrlText(config);
      if (wrong !== undefined) throw new ConfigError(`${wrong}.`);
      return openDatabase(config.databaseUrl, optionsOf(config, log));
    },
    isOutOfReach,
    (error) =>
      output.say(
        `latchkey-server: The database cannot be reached yet: ${reasonOf(error)}. Trying for ${reachDeadlineMs / 1000} s.`,
      ),
  ).catch((error: Error) => {
    throw error instanceof ConfigError ? error : unopened(config, error);
  });

/** What is wrong with a direct URL through which the start would migrate, and listen to, another database; undefined if nothing is. */
export async function wrongDirectUrlText({ databaseUrl, databaseDirectUrl }: Config) {
  return databaseDirectUrl !== undefined && (await areDifferent(databaseUrl, databaseDirectUrl))
    ? 'LATCHKEY_DATABASE_DIRECT_URL names another database than DATABASE_URL'
    : undefined;
}

function optionsOf(config: Config, log: Log): DatabaseOptions {
  const { databaseDirectUrl: directUrl } = config;
  // A pooler may run the next statement on another connection.
  return { log, directUrl, prepare: directUrl === undefined };
}

/** The directory or the file cannot be written by this process. */
const isUnwritable = (error: unknown): boolean =>
  /^(SQLITE_(CANTOPEN|READONLY|PERM)|EACCES|EPERM|EROFS|ENOTDIR)/.test(codeOf(error));

function unopened(config: Config, error: unknown): ConfigError {
  const file = sqliteFileOf(config);
  const remedy =
    file !== undefined && isUnwritable(error)
      ? ` The user of this process must be able to write to ${dirname(file)} and to the files in it. Change their owner or permissions, or set DATABASE_URL to a file elsewhere.`
      : '';
  return new ConfigError(`DATABASE_URL cannot be opened: ${reasonOf(error)}.${remedy}`);
}

/** @throws {ConfigError} if another process serves the SQLite file */
export function claimFile(config: Config): void {
  const file = sqliteFileOf(config);
  if (file === undefined) return;
  let isFree: boolean;
  try {
    isFree = lockStore(file);
  } catch (error) {
    throw unopened(config, error);
  }
  if (!isFree)
    throw new ConfigError(
      `DATABASE_URL: another latchkey-server serves the file ${file}. End it, or use PostgreSQL, which any number of processes can share.`,
    );
}

/** What is wrong with a store whose log was sealed under keys that are not here; undefined if nothing is. */
export async function missingKeyText(config: Config, on: Executor, keys: Keys | undefined) {
  const missing = await findMissingSealKey(on, keys ?? {});
  if (!missing) return undefined;
  const keyFile =
    sqliteFileOf(config) === undefined ? '' : `, or put its key file back: ${keyFilePath(config)}`;
  return `the security log of ${storeNameOf(config)} was sealed under the server key ${missing.keyId}, which is not here. Set LATCHKEY_KEYS to the keys of this store${keyFile}. A key that left the ring belongs in LATCHKEY_RETIRED_KEYS`;
}

/** What an operator reads about a restored database on which `finish-restore` has not run; undefined about every other one. */
export const unfinishedRestoreText = async (config: Config, on: Executor): Promise<string | undefined> =>
  (await isUnfinishedRestore(on))
    ? `the database ${storeNameOf(config)} was restored from a backup: run \`latchkey-server finish-restore\``
    : undefined;

/** @throws {ConfigError} for a restored store that is not ready, or one whose security log was sealed under keys that are not here */
async function requireUsable(config: Config, on: Executor, keys: Keys | undefined): Promise<void> {
  const text = (await unfinishedRestoreText(config, on)) ?? (await missingKeyText(config, on, keys));
  if (text !== undefined) throw new ConfigError(`${text.charAt(0).toUpperCase()}${text.slice(1)}.`);
}
