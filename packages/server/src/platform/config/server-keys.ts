import {
  chownSync,
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import {
  generateKey,
  type KeyRing,
  type LogKeys,
  parseKeyRing,
  withRetiredKeys,
} from '../crypto/primitives.ts';
import { exists } from '../values/exists.ts';
import { type Config, sqliteFileOf } from './config.ts';
import { ConfigError } from './config-error.ts';
import type { Environment } from './environment.ts';

/** Whether `LATCHKEY_KEYS` is set. Otherwise the keys are in a file. */
export const hasConfiguredKeys = (env: Environment): boolean => !!env['LATCHKEY_KEYS']?.trim();

/** The key file of a service on SQLite that does not set `LATCHKEY_KEYS`: next to the database. */
export function keyFilePath(config: Config): string {
  return `${sqliteFileOf(config)!.replace(/\.db$/, '')}.keys`;
}

/**
 * Whether there are no keys yet, as before the first start on SQLite. With PostgreSQL they must be set.
 * @throws {ConfigError} when retired keys are not valid, which must leave no new files behind
 */
export function lacksKeys(config: Config, env: Environment): boolean {
  if (hasConfiguredKeys(env) || sqliteFileOf(config) === undefined) return false;
  if (withKeyFile(keyFilePath(config), exists)) return false;
  const retired = readRetiredKeyList(env);
  if (retired) checkedKeys('LATCHKEY_RETIRED_KEYS', () => parseKeyRing(retired));
  return true;
}

/**
 * The key ring from `LATCHKEY_KEYS`, or on SQLite from the key file. With `create`, a missing key file is
 * created with mode 0600, as on the first start.
 * @throws {ConfigError} when there are no keys or they are not valid
 */
export function readKeys(config: Config, { create, env }: { create: boolean; env: Environment }): KeyRing {
  const list = env['LATCHKEY_KEYS']?.trim();
  if (list) return checkedKeys('LATCHKEY_KEYS', () => parseKeyRing(list));
  if (sqliteFileOf(config) !== undefined) return readKeyFile(keyFilePath(config), create);
  throw new ConfigError(
    'LATCHKEY_KEYS must be set with PostgreSQL: 32 random bytes in base64url, the same on every node.',
  );
}

/**
 * The keys that verify the security log: the ring, and the keys in `LATCHKEY_RETIRED_KEYS`, which verify
 * nothing else.
 * @throws {ConfigError} when a retired key is not valid
 */
export function readLogKeys(ring: KeyRing, env: Environment): LogKeys {
  const retired = readRetiredKeyList(env);
  return retired ? checkedKeys('LATCHKEY_RETIRED_KEYS', () => withRetiredKeys(ring, retired)) : ring;
}

const readKeyFile = (file: string, create: boolean): KeyRing =>
  withKeyFile(file, (path) => {
    if (!exists(path)) {
      if (!create) throw new ConfigError(`LATCHKEY_KEYS is not set, and there is no key file ${path}.`);
      createKeyFile(path);
    }
    const list = readFileSync(path, 'utf8').trim();
    return checkedKeys(`LATCHKEY_KEYS in the file ${path}`, () => parseKeyRing(list));
  });

/** @throws {ConfigError} where the key file cannot be used */
function withKeyFile<T>(path: string, use: (path: string) => T): T {
  try {
    return use(path);
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError(
      `DATABASE_URL needs a key file next to it, because LATCHKEY_KEYS is not set, and ${path} cannot be used: ${(error as Error).message}.`,
    );
  }
}

/** Creates the key file atomically: of several processes that start at once, one wins and all use its key. */
function createKeyFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${crypto.randomUUID()}.tmp`;
  writeFileSync(temporary, `${generateKey()}\n`, { mode: 0o600, flush: true });
  try {
    linkSync(temporary, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(temporary);
  }
}

/**
 * The key ring as text, a secret: the value of `LATCHKEY_KEYS`, or on SQLite the content of the key file.
 * @throws {ConfigError} when there are no keys or they are not valid
 */
export function readKeyList(config: Config, env: Environment): string {
  readKeys(config, { create: false, env });
  return env['LATCHKEY_KEYS']?.trim() || readFileSync(keyFilePath(config), 'utf8').trim();
}

/** The keys that verify only the security log, as text: a secret. Empty without any. */
export const readRetiredKeyList = (env: Environment): string => env['LATCHKEY_RETIRED_KEYS']?.trim() ?? '';

/**
 * Replaces the content of the key file atomically: readers see the old ring or the new one, even after a
 * crash. The caller must hold a lock against concurrent changes.
 * @throws {ConfigError} when it cannot be written
 */
export function writeKeyFile(config: Config, list: string): void {
  const link = keyFilePath(config);
  try {
    const path = realpathSync(link);
    const { uid, gid } = statSync(path);
    const temporary = `${path}.new`;
    // A crash may have left it there, with another mode or owner.
    rmSync(temporary, { force: true });
    writeFileSync(temporary, `${list}\n`, { mode: 0o600, flush: true, flag: 'wx' });
    // The service must be able to read what root writes.
    chownSync(temporary, uid, gid);
    renameSync(temporary, path);
    flushDirectory(dirname(path));
  } catch (error) {
    throw new ConfigError(`The key file ${link} cannot be written: ${String(error)}.`);
  }
}

/** Makes a rename in a directory durable. */
function flushDirectory(path: string): void {
  const directory = openSync(path, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

function checkedKeys<Keys>(name: string, parse: () => Keys): Keys {
  try {
    return parse();
  } catch (error) {
    throw new ConfigError(`${name} cannot be used: ${(error as Error).message}.`);
  }
}
