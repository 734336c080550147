// `bun test` emits no exit event, and a killed run could not handle one. So a small shell reads from a pipe that this
// process holds open: when this process ends, for whatever reason, the pipe closes, and the shell stops the registered
// processes and removes the registered files.

import { spawn as bunSpawn, type Subprocess } from 'bun';

const standby = `
trap '' INT TERM HUP
# A zombie is not alive.
alive() { kill -0 "$1" 2>/dev/null && ! grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; }
pids= files= mounts=
while read -r verb value; do
  case $verb in
    end) pids="$pids $value" ;;
    end-by-file) files="$files $value" ;;
    forget) kept=; for pid in $pids; do [ "$pid" = "$value" ] || kept="$kept $pid"; done; pids=$kept ;;
    unmount) mounts="$mounts $value" ;;
    remove) set -- "$@" "$value" ;;
  esac
done
for file in $files; do [ ! -f "$file" ] || pids="$pids $(head -n 1 "$file")"; done
for signal in INT KILL; do
  for pid in $pids; do kill -s $signal "$pid" 2>/dev/null; done
  tries=60
  while [ $tries -gt 0 ]; do
    left=; for pid in $pids; do alive "$pid" && left="$left $pid"; done
    pids=$left
    [ -n "$pids" ] || break
    sleep 0.05; tries=$((tries - 1))
  done
done
for mount in $mounts; do umount "$mount" 2>/dev/null; done
# Children of an ended process may still be writing.
tries=20
until rm -rf -- "$@" 2>/dev/null || [ $tries = 0 ]; do sleep 0.1; tries=$((tries - 1)); done
`;

let shell: Subprocess<'pipe', 'ignore', 'inherit'> | undefined;

function send(verb: string, value: string | number): void {
  if (!shell) {
    // The shell keeps standard error open, so reading that to its end includes waiting for the cleanup.
    shell = bunSpawn(['sh', '-c', standby, 'sh'], {
      stdin: 'pipe',
      stdout: 'ignore',
      stderr: 'inherit',
      cwd: '/',
      detached: true,
    });
    shell.unref();
  }
  shell.stdin.write(`${verb} ${value}\n`);
  shell.stdin.flush();
}

/** Tests that are running: several if they are concurrent. */
let running = 0;
/** Processes that were started while a test was running, and have not ended. */
const startedInTest = new Set<number>();

export function startTest(): void {
  running++;
}

/** What closes what was opened while a test was running. */
const closings: (() => Promise<void>)[] = [];

/** Closes what was opened, the newest first, and ends the processes that the test has started, when no other one runs. */
export async function endTest(): Promise<void> {
  if (--running > 0) return;
  const failures: unknown[] = [];
  for (let close = closings.pop(); close; close = closings.pop())
    await close().catch((error) => failures.push(error));
  for (const pid of startedInTest) kill(pid);
  startedInTest.clear();
  if (failures.length > 0) throw failures[0];
}

/** Closes what a test opens when that test ends, however it ends. What is opened outside of a test stays open. */
export function closeAtTestEnd(close: () => Promise<void>): void {
  if (running > 0) closings.push(close);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}

/** `spawn` of Bun, for a process that ends (SIGINT, then SIGKILL) with the test that starts it, or else with the test run. */
export const spawn = ((...args: Parameters<typeof bunSpawn>) => {
  const child = bunSpawn(...args);
  const { pid, exited } = child;
  send('end', pid);
  if (running > 0) startedInTest.add(pid);
  // The PID may be reused.
  void exited.then(() => {
    send('forget', pid);
    startedInTest.delete(pid);
  });
  return child;
}) as typeof bunSpawn;

/** Ends a process, and waits until it has ended. */
export async function end(
  child: Pick<Subprocess, 'kill' | 'exited'>,
  signal?: NodeJS.Signals,
): Promise<void> {
  child.kill(signal);
  await child.exited;
}

/**
 * What to do with a path when the test run and every registered process have ended: remove what is there, unmount it, or before
 * that end the process whose PID is in the first line of this file.
 */
export const atExit = (verb: 'remove' | 'unmount' | 'end-by-file', path: string): void => send(verb, path);
