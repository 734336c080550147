// Access tokens with the right format and key id but a wrong MAC, against the least program that does
// the same, and against a bare server that answers the same bytes.
// tests/invariants/no-statement.test.ts checks that they cause no database statement.

import { randomBytes } from 'node:crypto';
import { mintHandle, subjectBytes } from '../../packages/server/src/platform/crypto/handle.ts';
import { generateKey, parseKeyRing } from '../../packages/server/src/platform/crypto/key-ring.ts';
import { connections, mePath, putUnderLoad, recordAnswer } from '../support/load.ts';
import { type Figure, ratioFinding } from '../support/report.ts';
import { compare, roundSeconds } from '../support/rounds.ts';
import { type RecordedAnswer, startBareServer, startFloor, startService } from '../support/service.ts';
import { bearer, sqliteUrl, tokensInTurn } from '../support/stand.ts';

/** The MAC is the last 32 bytes of a handle: slightly less than its last 43 characters. */
const macCharacters = 42;

export const forged: Figure = {
  name: 'forged',
  run: async () => {
    const ring = generateKey();
    const keys = parseKeyRing(ring);
    const databaseUrl = sqliteUrl();
    const service = await startService({ databaseUrl, keys: ring });
    const tokens = Array.from({ length: tokensInTurn }, () => {
      const value = Date.now() + 3_600_000;
      const genuine = mintHandle(keys, 'accessToken', { subject: randomBytes(subjectBytes), value });
      return (
        genuine.slice(0, -macCharacters) +
        randomBytes(macCharacters).toString('base64url').slice(0, macCharacters)
      );
    });
    const answer = await recordAnswer(service.url + mePath, bearer(tokens[0]!));
    if (answer.status !== 401) throw new Error(`a forged token got status ${answer.status}`);
    const floor = await startFloor('me', { databaseUrl, keys: ring }, refusalOf(answer));
    const bare = await startBareServer(answer);
    const load = { path: mePath, tokens, seconds: roundSeconds, expected: answer };
    const subject = { name: 'forged tokens', run: () => putUnderLoad({ server: service, ...load }) };
    const toFloor = await compare(subject, {
      name: 'floor',
      run: () => putUnderLoad({ server: floor, ...load }),
    });
    const toBare = await compare(subject, {
      name: 'bare Bun.serve',
      run: () => putUnderLoad({ server: bare, ...load }),
    });
    await Promise.all([service.stop(), floor.stop(), bare.stop()]);
    const what = `Forged tokens refused, ${connections} connections`;
    return [
      ratioFinding(`${what}, against their floor`, toFloor, 0.8),
      ratioFinding(`${what}, against a bare Bun.serve that answers the same bytes`, toBare, 0.6),
    ];
  },
};

/** What the floor repeats of a refusal. */
const refusalOf = ({ body, headers }: RecordedAnswer) => ({
  REFUSAL: String(JSON.parse(body).error_description),
  CHALLENGE: headers['www-authenticate'] ?? '',
});
