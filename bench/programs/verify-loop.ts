// A bare loop around the library that verifies assertions: repeats the same assertions concurrently. Prints its result as a
// line of JSON.

import { readFileSync } from 'node:fs';
import { verifyAuthenticationResponse } from '@simplewebauthn/server';
import type { Assertion } from '../../tests/support/authenticator.ts';
import { concurrently } from '../support/concurrently.ts';

export interface VerifyLoop {
  readonly challenges: readonly string[];
  readonly assertions: readonly Assertion[];
  /** A COSE key in base64url. */
  readonly publicKey: string;
  readonly origin: string;
  readonly rpId: string;
  readonly atATime: number;
  readonly seconds: number;
}

const loop: VerifyLoop = JSON.parse(readFileSync(process.env['VERIFY_LOOP'] ?? '', 'utf8'));
const publicKey = new Uint8Array(Buffer.from(loop.publicKey, 'base64url'));

async function verify(index: number): Promise<void> {
  const at = index % loop.assertions.length;
  const response = loop.assertions[at]!;
  const { verified } = await verifyAuthenticationResponse({
    response,
    expectedChallenge: loop.challenges[at]!,
    expectedOrigin: loop.origin,
    expectedRPID: loop.rpId,
    credential: { id: response.id, publicKey, counter: 0 },
  });
  if (!verified) throw new Error('not verified');
}

await concurrently(loop.atATime, loop.assertions.length, verify);

const cpuBefore = process.cpuUsage();
const started = performance.now();
const deadline = started + loop.seconds * 1000;
const count = await concurrently(loop.atATime, () => performance.now() < deadline, verify);
const { user, system } = process.cpuUsage(cpuBefore);
const result = { count, seconds: (performance.now() - started) / 1000, cpuSeconds: (user + system) / 1e6 };
process.stdout.write(`${JSON.stringify(result)}\n`);
