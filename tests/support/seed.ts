import { randomFrom } from './random.ts';

const name = 'LATCHKEY_TEST_SEED';
const given = process.env[name];

/** Decides what the tests of this process draw. Set LATCHKEY_TEST_SEED to repeat a run that failed. */
export const seed = given ? Number(given) : crypto.getRandomValues(new Uint32Array(1))[0]!;

if (!given) process.stderr.write(`${name}=${seed}\n`);

export const random = randomFrom(seed);
