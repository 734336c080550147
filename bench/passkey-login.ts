// What a passkey login costs, against a bare loop around the library that verifies it, in one process:
// `bun bench/passkey-login.ts [logins] [connections]`. Both run the same signatures, and as many at a time.

import { verifyAuthenticationResponse } from '@simplewebauthn/server';
import { openApp } from '../tests/support/app.ts';
import {
  type Algorithm,
  type Assertion,
  createAuthenticator,
  type RequestOptions,
} from '../tests/support/authenticator.ts';

const logins = Number(process.argv[2] ?? 4000);
const connections = Number(process.argv[3] ?? 32);
const rounds = 3;

/** How many a second: `connections` at a time, each taking the next one as soon as it is done. */
async function rateOf(count: number, work: (index: number) => Promise<unknown>): Promise<number> {
  let next = 0;
  const started = performance.now();
  const connection = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: connections }, connection));
  return count / ((performance.now() - started) / 1000);
}

async function measure(algorithm: Algorithm): Promise<{ bare: number; service: number }> {
  const app = await openApp('sqlite');
  const { config } = app.ctx;
  const { access_token: token } = await app.login();
  const authenticator = createAuthenticator({ origin: config.baseUrl, algorithm });
  const { body: options } = await app.ask('POST', '/passkey/register/challenge', { token });
  const registration = authenticator.create(options);
  const { status } = await app.ask('POST', '/passkey/register', { token, json: registration });
  if (status !== 201) throw new Error(`registration: ${status}`);
  const [stored] = await app.ctx.db.read.run<{ public_key: string }>('SELECT public_key FROM passkeys', []);
  const publicKey = new Uint8Array(Buffer.from(stored!.public_key, 'base64url'));

  const assertions = async (): Promise<{ options: RequestOptions; assertion: Assertion }[]> => {
    const made = [];
    for (let i = 0; i < logins; i++) {
      const { body } = await app.ask('POST', '/passkey/login/challenge');
      made.push({ options: body, assertion: authenticator.get(body) });
    }
    return made;
  };

  const bare = async (): Promise<number> => {
    const made = await assertions();
    return rateOf(logins, async (index) => {
      const { options, assertion } = made[index]!;
      const { verified } = await verifyAuthenticationResponse({
        response: assertion,
        expectedChallenge: options.challenge,
        expectedOrigin: config.baseUrl,
        expectedRPID: config.rpId,
        credential: { id: assertion.id, publicKey, counter: 0 },
      });
      if (!verified) throw new Error('not verified');
    });
  };

  const service = async (): Promise<number> => {
    const made = await assertions();
    return rateOf(logins, async (index) => {
      const answer = await app.ask('POST', '/passkey/login', { json: made[index]!.assertion });
      if (answer.status !== 200) throw new Error(`login: ${answer.status} ${answer.text}`);
    });
  };

  await bare();
  const best = { bare: 0, service: 0 };
  for (let round = 0; round < rounds; round++) {
    best.bare = Math.max(best.bare, await bare());
    best.service = Math.max(best.service, await service());
  }
  await app.close();
  return best;
}

for (const algorithm of ['ES256', 'EdDSA', 'RS256'] as const) {
  const { bare, service } = await measure(algorithm);
  process.stdout.write(
    `${algorithm}: ${service.toFixed(0)} logins/s, bare ${bare.toFixed(0)} verifications/s, ratio ${(service / bare).toFixed(2)}\n`,
  );
}
process.exit(0);
