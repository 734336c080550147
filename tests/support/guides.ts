// The programs and commands of the documents, run as a reader would run them.

import { expect } from 'bun:test';
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { spawn } from './cleanup.ts';
import { addNpx, approving, type Home, newHome } from './cli.ts';
import { reservePort } from './reserved-port.ts';
import { launch, type TestService, temporaryDirectory, untilReady } from './service.ts';
import { until } from './until.ts';

const root = join(import.meta.dir, '../..');

/** The code blocks of one language in a document, in their order. */
export async function codeBlocks(document: string, language: string): Promise<string[]> {
  const text = await Bun.file(join(root, document)).text();
  const fence = new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, 'gm');
  return [...text.matchAll(fence)].map(([, block = '']) => block);
}

type Texts<Count, Some extends string[] = []> = Some['length'] extends Count
  ? Some
  : Texts<Count, [...Some, string]>;

/** The same, of which there must be so many: a test that takes fewer would leave some out. */
export async function allBlocks<Count extends number>(document: string, language: string, count: Count) {
  const blocks = await codeBlocks(document, language);
  expect([document, language, blocks.length]).toEqual([document, language, count]);
  return blocks as Texts<Count>;
}

export const exampleText = (name: string): Promise<string> => Bun.file(join(root, 'examples', name)).text();

/** Expects a document to show parts of an example, and nothing else in that language. */
export async function expectParts(document: string, language: string, name: string): Promise<void> {
  const [blocks, example] = await Promise.all([codeBlocks(document, language), exampleText(name)]);
  expect(blocks).not.toEqual([]);
  for (const block of blocks) expect(example).toContain(block);
}

/** A home whose current directory looks like a checkout in which `npm start` has run. */
export function checkoutHome(env: Readonly<Record<string, string>> = {}): Home {
  const home = newHome(env);
  mkdirSync(join(home.path, 'data'));
  addNpx(home);
  for (const name of ['node_modules', 'examples']) symlinkSync(join(root, name), join(home.path, name));
  return home;
}

/** The home of a reader of the guides who has started this service. */
export const readerOf = (service: TestService, env: Readonly<Record<string, string>> = {}): Home =>
  checkoutHome({ ...service.env, LATCHKEY_SERVER: service.url, ...env });

/** Parts of a block that a test replaces, such as `{ 'localhost:8787': 'localhost:4711' }`. */
export type Replacements = Readonly<Record<string, string>>;

/** A shell that keeps its variables from one block of commands to the next, until its test ends. */
export type Terminal = ReturnType<typeof openTerminal>;

/** Opens a terminal in a home. */
export function openTerminal(home: Home, replacements: Replacements) {
  const child = spawn(['sh'], {
    cwd: home.path,
    env: home.env,
    stdin: 'pipe',
    stdout: 'ignore',
    stderr: 'inherit',
  });
  // Files, because a program on Bun leaves a pipe that it writes to non-blocking, and others then fail to write to it.
  const directory = temporaryDirectory();
  let blocks = 0;
  return {
    /** Runs a block; `onOutput` gets all of its output so far, each time it grows. */
    run: async (block: string, onOutput: (text: string) => void = () => {}) => {
      const shown = join(directory, `${++blocks}`);
      const code = `${shown}.code`;
      const script = `{ ${replaced(block, replacements)}\n} </dev/null >${shown} 2>&1\necho $? >${code}.new\nmv ${code}.new ${code}\n`;
      child.stdin.write(script);
      child.stdin.flush();
      let output = '';
      await until(
        () => {
          const isOver = existsSync(code);
          const seen = output.length;
          output = existsSync(shown) ? readFileSync(shown, 'utf8') : '';
          if (output.length > seen) onOutput(output);
          return isOver;
        },
        () => `the end of this:\n${block}\n${output}`,
      );
      return { code: Number(readFileSync(code, 'utf8')), output };
    },
  };
}

/** Runs a block that signs in at this address, and approves it as a person would. */
export const runSigningIn = (terminal: Terminal, block: string, url: string, email: string) =>
  approving(url, email, (onOutput) => terminal.run(block, onOutput));

/** Runs a block that must succeed; returns its output. */
export async function runWell(terminal: Terminal, block: string): Promise<string> {
  const { code, output } = await terminal.run(block);
  expect([block, code, output]).toEqual([block, 0, output]);
  return output;
}

/** Starts a block that keeps running, such as a service, and waits until `isReady`. */
export async function startBlock(
  home: Home,
  block: string,
  env: Readonly<Record<string, string>>,
  isReady: () => Promise<boolean>,
): Promise<() => Promise<void>> {
  const running = launch(home.path, { ...home.env, ...env }, ['sh', '-c', withExec(block)]);
  return untilReady(`this block:\n${block}`, running, isReady);
}

/**
 * Follows docs/installing.md in an empty home, up to the first sign-in, and returns what its last block prints.
 * @param install finds the block that installs
 */
export async function followInstalling(
  home: Home,
  install: RegExp,
  replacements: Replacements,
): Promise<string> {
  const blocks = await codeBlocks('docs/installing.md', 'sh');
  const [serve = '', login = ''] = blocks.slice(-2);
  const port = reservePort();
  const url = `http://localhost:${port}`;
  const env = { ...home.env, LATCHKEY_SERVER: url };
  const terminal = openTerminal({ ...home, env }, replacements);
  const installed = await terminal.run(blocks.find((block) => install.test(block)) ?? '');
  if (installed.code !== 0) throw new Error(installed.output);
  const settings = { PORT: String(port), LATCHKEY_DEVICE_POLL_INTERVAL: '1' };
  await startBlock(home, serve, settings, async () => (await fetch(`${url}/readyz`)).ok);
  return (await runSigningIn(terminal, login, url, 'new@example.com')).output;
}

/** Lets the command take the place of the shell, so that ending one ends the other. */
const withExec = (block: string): string =>
  block.trim().replace(/^((?:\w+=(?:\$\([^)]*\)|\S+) )*)/, '$1exec ');

export const replaced = (block: string, replacements: Replacements): string =>
  Object.entries(replacements).reduce((text, [from, to]) => text.replaceAll(from, to), block);
