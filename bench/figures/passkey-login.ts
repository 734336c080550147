// POST /passkey/login, against a bare loop around the library that verifies assertions. Both get signatures of the same
// key, with the same concurrency.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mintChallenge, subjectBytes } from '../../packages/server/src/platform/crypto/handle.ts';
import {
  generateKey,
  type KeyRing,
  parseKeyRing,
} from '../../packages/server/src/platform/crypto/key-ring.ts';
import { systemRandom } from '../../packages/server/src/platform/crypto/random.ts';
import { openDatabase } from '../../packages/server/src/platform/database/database.ts';
import {
  type Algorithm,
  type Assertion,
  type Authenticator,
  createAuthenticator,
} from '../../tests/support/authenticator.ts';
import { loginByMail, request } from '../../tests/support/http.ts';
import { temporaryDirectory } from '../../tests/support/service.ts';
import type { VerifyLoop } from '../programs/verify-loop.ts';
import { concurrently } from '../support/concurrently.ts';
import { connections } from '../support/load.ts';
import { cpuSeconds, runProgram } from '../support/processes.ts';
import { type Figure, type Finding, ratioFinding } from '../support/report.ts';
import { compare, type Sample } from '../support/rounds.ts';
import { startService } from '../support/service.ts';
import { sqliteUrl } from '../support/stand.ts';

const loginsPerRound = 1500;
const countedRounds = 5;
const verifySeconds = 0.5;
const challengeTtlMs = 300_000;
const rpId = 'localhost';

interface Signed {
  readonly challenges: string[];
  readonly assertions: Assertion[];
}

/** Signs challenges that are created here instead of requested: the service does nothing else to create one. */
function sign(keys: KeyRing, authenticator: Authenticator): Signed {
  const challenges = Array.from({ length: loginsPerRound }, () =>
    mintChallenge(keys, 'passkeyLogin', {
      subject: systemRandom(subjectBytes),
      value: Date.now() + challengeTtlMs,
    }),
  );
  return { challenges, assertions: challenges.map((challenge) => authenticator.get({ challenge, rpId })) };
}

async function measure(algorithm: Algorithm): Promise<Finding> {
  const ring = generateKey();
  const keys = parseKeyRing(ring);
  const databaseUrl = sqliteUrl();
  const service = await startService({ databaseUrl, keys: ring });
  const origin = `http://localhost:${new URL(service.url).port}`;

  const { access_token: token } = await loginByMail(service.url, 'ada@example.com');
  const authenticator = createAuthenticator({ origin, algorithm });
  const { body: options } = await request(service.url, 'POST', '/passkey/register/challenge', { token });
  const json = authenticator.create(options);
  const { status } = await request(service.url, 'POST', '/passkey/register', { token, json });
  if (status !== 201) throw new Error(`registration: ${status}`);
  const db = await openDatabase(databaseUrl, { log: { warn: () => undefined } });
  const [passkey] = await db.read.run<{ public_key: string }>('SELECT public_key FROM passkeys', []);
  await db.close();

  const logins = async (): Promise<Sample> => {
    const { assertions } = sign(keys, authenticator);
    const before = cpuSeconds(service.pid);
    const started = performance.now();
    const count = await concurrently(connections, assertions.length, async (index) => {
      const login = await request(service.url, 'POST', '/passkey/login', { json: assertions[index] });
      if (login.status !== 200) throw new Error(`login: ${login.status} ${JSON.stringify(login.body)}`);
    });
    const seconds = (performance.now() - started) / 1000;
    return { count, seconds, cpuSeconds: cpuSeconds(service.pid) - before };
  };

  const loopFile = join(temporaryDirectory(), 'loop.json');
  const publicKey = passkey!.public_key;
  const loop: VerifyLoop = {
    ...sign(keys, authenticator),
    ...{ publicKey, origin, rpId, atATime: connections, seconds: verifySeconds },
  };
  writeFileSync(loopFile, JSON.stringify(loop));
  const program = join(import.meta.dir, '../programs/verify-loop.ts');
  const bare = async (): Promise<Sample> =>
    JSON.parse((await runProgram([process.execPath, program], { VERIFY_LOOP: loopFile })).out);

  const comparison = await compare(
    { name: 'POST /passkey/login', run: logins },
    { name: 'bare loop around the library', run: bare },
    { counted: countedRounds },
  );
  await service.stop();
  const what = `Passkey login, ${algorithm}, SQLite, ${connections} connections, against a bare loop around the verifying library`;
  return ratioFinding(what, comparison, 0.5);
}

export const passkeyLogin: Figure = {
  name: 'passkey-login',
  run: async () => {
    const findings = [];
    for (const algorithm of ['ES256', 'EdDSA', 'RS256'] as const) findings.push(await measure(algorithm));
    return findings;
  },
};
