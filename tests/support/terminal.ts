// A program in a real terminal.

import { spawn } from './cleanup.ts';
import type { Home } from './cli.ts';
import { until } from './until.ts';

export type Terminal = ReturnType<typeof openTerminal>;

/** Runs a command in a terminal of its own, in this home. */
export function openTerminal(
  home: Home,
  command: readonly string[],
  env: Readonly<Record<string, string>> = {},
  columns = 100,
) {
  let text = '';
  const decoder = new TextDecoder();
  const child = spawn([...command], {
    cwd: home.path,
    env: { ...home.env, TERM: 'xterm-256color', ...env },
    terminal: {
      cols: columns,
      rows: 60,
      data: (_, bytes) => {
        text += decoder.decode(bytes, { stream: true });
      },
    },
  });
  return {
    /** All output so far, with its control sequences. */
    screen: () => text,
    /** Waits until this has been printed. */
    shows: async (pattern: RegExp) => {
      await until(
        () => pattern.test(text),
        () => `${pattern} in:\n${text}`,
      );
      return pattern.exec(text)!;
    },
    type: (keys: string) => void child.terminal?.write(keys),
    /** Presses Ctrl-C; resolves with the exit code. */
    interrupt: () => {
      child.terminal?.write('\u0003');
      return child.exited;
    },
    exited: child.exited,
  };
}
