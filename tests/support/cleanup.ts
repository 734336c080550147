// `bun test` ends without an exit event, and a killed run could not handle one anyway. So a small shell stands
// by, holding the other end of a pipe: when this process is gone, for whatever reason, the pipe ends, and the
// shell stops and removes all it was told of.

import { type Subprocess, spawn } from 'bun';

const standby = `
trap '' INT TERM HUP
# An ended process that nobody has waited for is not alive.
alive() { kill -0 "$1" 2>/dev/null && ! grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; }
pids= files=
while read -r verb value; do
  case $verb in
    end) pids="$pids $value" ;;
    end-by-file) files="$files $value" ;;
    forget) kept=; for pid in $pids; do [ "$pid" = "$value" ] || kept="$kept $pid"; done; pids=$kept ;;
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
# The last children of an ended process may still write.
tries=20
until rm -rf -- "$@" 2>/dev/null || [ $tries = 0 ]; do sleep 0.1; tries=$((tries - 1)); done
`;

let shell: Subprocess<'pipe', 'ignore', 'inherit'> | undefined;

function tell(verb: string, value: string | number): void {
  if (!shell) {
    // It keeps standard error open, so whoever reads that to its end has waited for the cleaning, too.
    shell = spawn(['sh', '-c', standby, 'sh'], {
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

/** Ends the process (SIGINT, then SIGKILL) once the tests are over, however they end. */
export function endAtExit(pid: number): void {
  tell('end', pid);
}

/** Takes back `endAtExit` for a process that has ended: its number may belong to another one soon. */
export function hasEnded(pid: number): void {
  tell('forget', pid);
}

/** As `endAtExit`, for the process whose number the first line of this file tells at that time. */
export function endByFileAtExit(pidFile: string): void {
  tell('end-by-file', pidFile);
}

/** Removes the directory and all in it once the tests are over and every process has ended. */
export function removeAtExit(directory: string): void {
  tell('remove', directory);
}
