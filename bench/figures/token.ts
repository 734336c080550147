// How long `latchkey token` takes with a stored login that is still valid, from npm and as a single file, beside the least program
// of the same runtime.

import { join } from 'node:path';
import { credentialStore, tokenMembers } from '@latchkey/client/credentials';
import { fileStorage } from '@latchkey/client/file-storage';
import { $, spawn } from 'bun';
import cli from '../../packages/cli/package.json' with { type: 'json' };
import { nodes } from '../../tests/support/node.ts';
import { temporaryDirectory } from '../../tests/support/service.ts';
import { buildPackages } from '../../tools/release/packages.ts';
import { commandLine } from '../../tools/release/programs.ts';
import { buildSingleFile } from '../../tools/release/single-file.ts';
import { moveToBothCores, moveToLoadCore } from '../support/cores.ts';
import { watchOthers } from '../support/others.ts';
import type { Figure, Finding } from '../support/report.ts';
import { median } from '../support/rounds.ts';
import { quantile } from '../support/steady-load.ts';

const starts = 30;
const warmUps = 3;
const server = 'https://login.example';
const accessToken = `lk_at_${'a'.repeat(80)}`;

interface Start {
  readonly ms: number;
  readonly cpuMs: number;
}

/** A home directory with a stored login whose access token is valid for hours. */
async function homeWithLogin(): Promise<string> {
  const home = temporaryDirectory();
  const storage = fileStorage(join(home, '.config/latchkey/credentials.json'));
  const tokens = { access_token: accessToken, refresh_token: 'lk_rt_a', expires_in: 14_400 };
  await credentialStore(storage, server).put({
    server,
    user: { id: 'usr_a', email: 'ada@example.com' },
    logged_in_at: new Date().toISOString(),
    ...tokenMembers({ ...tokens, token_type: 'Bearer' }, Date.now()),
  });
  return home;
}

/** Builds the package and installs it into an empty folder. Returns its program. */
async function installFromNpm(): Promise<string> {
  const archives = await buildPackages(join(temporaryDirectory(), 'packages'));
  const archive = archives.find((path) => path.endsWith(`/latchkey-${cli.version}.tgz`))!;
  const folder = temporaryDirectory();
  await Bun.write(join(folder, 'package.json'), '{"name": "empty", "private": true}');
  await $`npm install --offline --no-audit --omit=optional ${archive}`.cwd(folder).quiet();
  return join(folder, 'node_modules/.bin/latchkey');
}

/** The least single file: the runtime, compiled with a program that does nothing. */
async function emptySingleFile(): Promise<string> {
  const directory = temporaryDirectory();
  const main = join(directory, 'empty.ts');
  await Bun.write(main, '');
  const file = join(directory, 'empty');
  await buildSingleFile({ ...commandLine, main }, file, undefined);
  return file;
}

async function startOnce(command: readonly string[], home: string, output: string): Promise<Start> {
  const startedAt = performance.now();
  const child = spawn([...command], {
    cwd: home,
    env: { PATH: process.env['PATH'] ?? '', HOME: home },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const [text, code] = await Promise.all([new Response(child.stdout).text(), child.exited]);
  const ms = performance.now() - startedAt;
  if (code !== 0 || text !== output) throw new Error(`${command.join(' ')} ended with ${code}: ${text}`);
  return { ms, cpuMs: Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1000 };
}

interface Program {
  readonly name: string;
  readonly command: readonly string[];
  readonly output: string;
}

/** Starts the programs in turn, so that other activity on the machine affects all of them. */
async function startsOf(programs: readonly Program[], home: string): Promise<Map<Program, Start[]>> {
  const done = new Map(programs.map((program) => [program, [] as Start[]]));
  for (let round = 0; round < warmUps + starts; round++) {
    for (const [program, list] of done) {
      const start = await startOnce(program.command, home, program.output);
      if (round >= warmUps) list.push(start);
    }
  }
  return done;
}

function line({ name }: Program, done: readonly Start[]): string {
  const times = done.map(({ ms }) => ms);
  const cpu = median(done.map(({ cpuMs }) => cpuMs)).toFixed(1);
  return `${name}: median ${median(times).toFixed(1)} ms, p90 ${quantile(times, 0.9).toFixed(1)} ms; ${cpu} ms of CPU`;
}

export const token: Figure = {
  name: 'token',
  run: async () => {
    const oldest = nodes[0];
    if (!oldest) throw new Error('there is no Node');
    const singleFile = join(temporaryDirectory(), 'latchkey');
    await buildSingleFile(commandLine, singleFile, undefined);
    const output = `${accessToken}\n`;
    const npm = {
      ...{ name: `from npm, on Node ${oldest.major}`, output },
      command: [oldest.path, await installFromNpm(), 'token'],
    };
    const file = { name: 'as a single file', command: [singleFile, 'token'], output };
    const node = { name: 'node -e 0', command: [oldest.path, '-e', '0'], output: '' };
    const empty = { name: 'an empty single file', command: [await emptySingleFile()], output: '' };
    const home = await homeWithLogin();
    moveToBothCores();
    const othersShare = watchOthers();
    const done = await startsOf([npm, node, file, empty], home);
    const busy = othersShare();
    moveToLoadCore();
    const finding = (program: Program, floor: Program, atMost: number): Finding => ({
      what: `latchkey token with a valid stored login, ${program.name}, ${starts} starts`,
      value: median(done.get(program)!.map(({ ms }) => ms)),
      unit: 'ms',
      promise: { atMost },
      othersShare: busy,
      details: [line(program, done.get(program)!), line(floor, done.get(floor)!)],
    });
    return [finding(npm, node, 60), finding(file, empty, 20)];
  },
};
