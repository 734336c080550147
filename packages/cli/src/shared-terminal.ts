// Who else could write to the terminal of this program, or type on it.

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/**
 * A process on the terminal of this one that it was not started from, as `name (ID)`. One in another session counts if it has the terminal
 * open. Undefined if there is none, or if the system does not tell: only Linux does.
 * @param outside counts other sessions only
 */
export function findTerminalSharer({ outside }: { readonly outside: boolean }): string | undefined {
  const self = readProcess('self');
  if (!self) return undefined;
  const ancestors = new Set<string>();
  for (let one: Process | undefined = self; one && !ancestors.has(one.id); one = readProcess(one.parent))
    ancestors.add(one.id);
  const path = linkOf('/proc/self/fd/0');
  for (const id of readdirSync('/proc')) {
    if (!/^\d+$/.test(id) || ancestors.has(id)) continue;
    const other = readProcess(id);
    if (!other || other.state === 'Z' || (outside && other.session === self.session)) continue;
    if (other.terminal === self.terminal || hasOpen(id, path)) return `${other.name} (${id})`;
  }
  return undefined;
}

interface Process {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly parent: string;
  readonly session: string;
  /** The number of the controlling terminal. */
  readonly terminal: string;
}

/** Undefined if it has ended. @see proc_pid_stat(5) */
function readProcess(id: string): Process | undefined {
  try {
    const [, pid, name, fields] =
      /^(\d+) \((.*)\) (.*)$/s.exec(readFileSync(`/proc/${id}/stat`, 'utf8')) ?? [];
    const [state, parent, , session, terminal] = fields?.split(' ') ?? [];
    if (!pid || name === undefined || !state || !parent || !session || !terminal) return undefined;
    return { id: pid, name, state, parent, session, terminal };
  } catch {
    return undefined;
  }
}

function hasOpen(id: string, path: string | undefined): boolean {
  try {
    const directory = `/proc/${id}/fd`;
    return readdirSync(directory).some((descriptor) => linkOf(`${directory}/${descriptor}`) === path);
  } catch {
    // It has ended, or belongs to another user.
    return false;
  }
}

function linkOf(link: string): string | undefined {
  try {
    return readlinkSync(link);
  } catch {
    return undefined;
  }
}
