// Tokens that a service verifies: kept with the feed, beside the floor of that, and asked for each time. The service that verifies has the server core;
// Latchkey shares the other one.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Subprocess } from 'bun';
import { generateKey, parseKeyRing } from '../../packages/server/src/platform/crypto/primitives.ts';
import { spawn } from '../../tests/support/cleanup.ts';
import { runOperator, temporaryDirectory } from '../../tests/support/service.ts';
import type { Verifications, VerifierName } from '../programs/verifications.ts';
import { loadCore, onCore, serverCore } from '../support/cores.ts';
import { watchOthers } from '../support/others.ts';
import { type Figure, number } from '../support/report.ts';
import { cpuMicros, median, rateOf, roundSeconds, runRounds, type Sample } from '../support/rounds.ts';
import { serveCommand, startService } from '../support/service.ts';
import { accessTokens, sqliteUrl, tokensInTurn } from '../support/stand.ts';
import { fillStore } from '../support/store.ts';

const atATime = 32;

/** Answers are asked for again every 5 minutes. */
const maxAskedShare = 0.01;

interface Program {
  /** Runs one round of a verifier. */
  run(verifier: VerifierName): Promise<Sample & { readonly asked: number }>;
  end(): Promise<void>;
}

async function startProgram(input: Verifications): Promise<Program> {
  const file = join(temporaryDirectory(), 'verifications.json');
  writeFileSync(file, JSON.stringify(input));
  const program = join(import.meta.dir, '../programs/verifications.ts');
  const child = spawn(onCore(serverCore, [process.execPath, program]), {
    env: { PATH: process.env['PATH'] ?? '', NODE_ENV: 'production', VERIFICATIONS: file },
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const lines = linesOf(child);
  const next = async () => {
    const { value } = await lines.next();
    if (value === undefined) throw new Error('the program that verifies has ended');
    return JSON.parse(value);
  };
  await next();
  return {
    run: (verifier) => {
      child.stdin.write(`${verifier}\n`);
      child.stdin.flush();
      return next();
    },
    end: async () => {
      child.stdin.end();
      await child.exited;
    },
  };
}

async function* linesOf({
  stdout,
}: Subprocess<'pipe', 'pipe', 'inherit'>): AsyncGenerator<string, undefined> {
  let text = '';
  for await (const chunk of stdout.pipeThrough(new TextDecoderStream())) {
    const complete = (text + chunk).split('\n');
    text = complete.pop() ?? '';
    yield* complete;
  }
}

export const verifications: Figure = {
  name: 'verifications',
  run: async () => {
    const [databaseUrl, keys] = [sqliteUrl(), generateKey()];
    await fillStore(databaseUrl, tokensInTurn);
    const server = await startService({ databaseUrl, keys }, onCore(loadCore, serveCommand));
    const env = { DATABASE_URL: databaseUrl, LATCHKEY_KEYS: keys, NODE_ENV: 'production' };
    const { stdout, stderr } = await runOperator(env, 'services', 'create', 'boards', '--may', 'feed');
    const serviceKey = stdout.trim().split('\n').at(-1)!;
    if (!serviceKey.startsWith('svc_')) throw new Error(`services create: ${stderr}`);
    const tokens = accessTokens({ keys: parseKeyRing(keys), sessions: tokensInTurn });
    const program = await startProgram({
      ...{ server: server.url, serviceKey, tokens, atATime, seconds: roundSeconds },
    });
    const kept = {
      name: 'kept',
      run: async () => {
        const sample = await program.run('kept');
        if (sample.asked > sample.count * maxAskedShare)
          throw new Error(`${sample.asked} of ${sample.count} were asked for`);
        return sample;
      },
    };
    const side = (name: VerifierName) => ({ name, run: () => program.run(name) });
    const othersShare = watchOthers([server.pid]);
    const samples = await runRounds([kept, side('floor'), side('asked')], { counted: 9, warmUps: 1 });
    const share = othersShare();
    await program.end();
    await server.stop();
    const of = (name: string, value: (sample: Sample) => number) => median(samples.get(name)!.map(value));
    const what = `Tokens verified in a second by a service on one core, ${tokensInTurn.toLocaleString('en')} in turn, ${atATime} at a time, kept with the feed`;
    const details = [...samples.keys()].map(
      (name) => `${name}: ${number(of(name, rateOf))}/s, ${number(of(name, cpuMicros))} us CPU each`,
    );
    const rate = of('kept', rateOf);
    return [
      { what, value: rate, promise: { atLeast: 100_000 }, othersShare: share, details },
      {
        ...{ what: `${what}, against its floor`, value: rate / of('floor', rateOf), details: [] },
        ...{ promise: { atLeast: 0.8 }, othersShare: share },
      },
    ];
  },
};
