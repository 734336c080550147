// `latchkey agent` as a process.

import { spawn } from './cleanup.ts';
import { type Home, program } from './cli.ts';

export interface RunningAgent {
  readonly pid: number;
  readonly address: string;
  /** Where its forwarded services are, by the names of their variables. Empty without `--listen`. */
  readonly forwards: Readonly<Record<string, string>>;
  /** Resolves with its exit code. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<number>;
}

/** Starts the agent of the login in this home, and resolves once it listens. */
export const startAgent = (home: Home, ...args: string[]): Promise<RunningAgent> =>
  startAgentOn([program], home, ...args);

/** @param command runs the command line */
export async function startAgentOn(
  command: readonly string[],
  home: Home,
  ...args: string[]
): Promise<RunningAgent> {
  const child = spawn([...command, 'agent', ...args], {
    cwd: home.path,
    env: home.env,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  let text = '';
  const reader = child.stdout.getReader();
  const lines = 1 + (args.includes('--listen') ? args.filter((arg) => arg === '--forward').length : 0);
  while (text.split('\n').length <= lines) {
    const { value, done } = await reader.read();
    if (done) throw new Error(await new Response(child.stderr).text());
    text += new TextDecoder().decode(value);
  }
  return {
    pid: child.pid,
    address: /^LATCHKEY_AGENT=(.+)\n/.exec(text)?.[1] ?? '',
    forwards: Object.fromEntries(
      [...text.matchAll(/^(LATCHKEY_FORWARD_\w+)=(.+)$/gm)].map(([, name = '', url = '']) => [name, url]),
    ),
    stop: async (signal = 'SIGTERM') => {
      child.kill(signal);
      const code = await child.exited;
      return code;
    },
  };
}
