// The program in the README of the SDK, and what it prints.

import { expect } from 'bun:test';
import { join } from 'node:path';
import { loginByMail, request } from './http.ts';
import { waitTimeoutMs } from './until.ts';

/** The program in TypeScript, for the service at `url`. */
export async function readmeProgram(url: string): Promise<string> {
  const text = await Bun.file(join(import.meta.dir, '../../packages/client/README.md')).text();
  const blocks = [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code]) => code);
  expect(blocks).toHaveLength(3);
  return blocks.join('').replace('http://localhost:8787', url);
}

/** Watches what the program prints and approves its sign-in. */
export function readmeWatcher(url: string) {
  const lines: string[] = [];
  const approve = async (user_code: string) => {
    const { access_token: token } = await loginByMail(url, 'readme@example.com');
    const answer = await request(url, 'POST', '/device/approve', { json: { user_code }, token });
    expect(answer.status).toBe(204);
  };
  return {
    onLine: async (line: string): Promise<void> => {
      lines.push(line);
      const code = /enter ([A-Z]{4}-[A-Z]{4})$/.exec(line)?.[1];
      if (code) await approve(code);
    },
    expectDone: () =>
      expect(lines.slice(1)).toEqual([
        'Signed in as readme@example.com',
        'Organizations: 1',
        'not_logged_in, retryable: false',
      ]),
    isDone: () => lines.length === 4,
  };
}

/** Runs the program in this file, and checks everything that it does. */
export async function expectReadme(url: string, command: readonly string[], cwd?: string): Promise<void> {
  const watcher = readmeWatcher(url);
  const child = Bun.spawn([...command], { timeout: waitTimeoutMs, stderr: 'pipe', ...(cwd ? { cwd } : {}) });
  let rest = '';
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) await watcher.onLine(line);
  }
  expect([await child.exited, await new Response(child.stderr).text()]).toEqual([0, '']);
  watcher.expectDone();
}
