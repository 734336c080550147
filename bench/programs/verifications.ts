// A process of a service that verifies the same tokens in turn, with a verifier that keeps its answers with the feed, one that
// asks each time, and the floor. Prints a line of JSON for each line on its standard input, which names one of the three.

import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { createVerifier } from '../../packages/client/src/verify.ts';
import { FloorVerifier } from '../floors/verifier.ts';
import { concurrently } from '../support/concurrently.ts';

export interface Verifications {
  readonly server: string;
  readonly serviceKey: string;
  readonly tokens: readonly string[];
  readonly atATime: number;
  readonly seconds: number;
}

const input: Verifications = JSON.parse(readFileSync(process.env['VERIFICATIONS'] ?? '', 'utf8'));
const { server, serviceKey, tokens, atATime, seconds } = input;
const verifiers = {
  kept: createVerifier({ server, serviceKey, feed: true }),
  asked: createVerifier({ server, serviceKey, cacheSeconds: 0 }),
  floor: new FloorVerifier(),
};
export type VerifierName = keyof typeof verifiers;

/** As in a server, whose requests come in by turns of the event loop. */
const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

async function verify(name: VerifierName, index: number): Promise<void> {
  const { active } = await verifiers[name].verify(tokens[index % tokens.length]!);
  if (!active) throw new Error('a token is not active');
  await nextTurn();
}

await verify('kept', 0);
while (verifiers.kept.metrics().feed !== 'following') await nextTurn();
await concurrently(atATime, tokens.length, (index) => verify('kept', index));
for (const token of tokens) {
  const answer = await verifiers.kept.verify(token);
  if (answer.active) verifiers.floor.keep(token, answer);
}

/** How many tokens the verifiers with a service asked for so far. */
const askedSoFar = () => verifiers.kept.metrics().asked + verifiers.asked.metrics().asked;

const print = (value: unknown) => process.stdout.write(`${JSON.stringify(value)}\n`);
print('ready');
for await (const line of createInterface({ input: process.stdin })) {
  const name = line as VerifierName;
  const before = { cpu: process.cpuUsage(), asked: askedSoFar() };
  const started = performance.now();
  const deadline = started + seconds * 1000;
  const count = await concurrently(
    atATime,
    () => performance.now() < deadline,
    (index) => verify(name, index),
  );
  const { user, system } = process.cpuUsage(before.cpu);
  print({
    count,
    seconds: (performance.now() - started) / 1000,
    cpuSeconds: (user + system) / 1e6,
    asked: askedSoFar() - before.asked,
  });
}
verifiers.kept.close();
