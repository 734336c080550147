// Access tokens of the right shape, under a key of the ring, with another MAC: refused as fast as a bare server
// answers the same bytes. That no statement runs is held by tests/no-statement.test.ts.

import { randomBytes } from 'node:crypto';
import { mintHandle, subjectBytes } from '../../packages/server/src/platform/crypto/handle.ts';
import { generateKey, parseKeyRing } from '../../packages/server/src/platform/crypto/key-ring.ts';
import { connections, mePath, putUnderLoad, recordAnswer } from '../support/load.ts';
import { type Figure, ratioFinding } from '../support/report.ts';
import { compare, roundSeconds } from '../support/rounds.ts';
import { startBareServer, startService } from '../support/service.ts';
import { bearer, sqliteUrl, tokensInTurn } from '../support/stand.ts';

/** The MAC is the last 32 of a handle's bytes: a little less than its last 43 letters. */
const macLetters = 42;

export const forged: Figure = {
  name: 'forged',
  run: async () => {
    const ring = generateKey();
    const keys = parseKeyRing(ring);
    const service = await startService({ databaseUrl: sqliteUrl(), keys: ring });
    const tokens = Array.from({ length: tokensInTurn }, () => {
      const value = Date.now() + 3_600_000;
      const genuine = mintHandle(keys, 'accessToken', { subject: randomBytes(subjectBytes), value });
      return (
        genuine.slice(0, -macLetters) + randomBytes(macLetters).toString('base64url').slice(0, macLetters)
      );
    });
    const answer = await recordAnswer(service.url + mePath, bearer(tokens[0]!));
    if (answer.status !== 401) throw new Error(`a forged token was answered with ${answer.status}`);
    const bare = await startBareServer(answer);
    const load = { path: mePath, tokens, seconds: roundSeconds, expected: answer };
    const comparison = await compare(
      { name: 'forged tokens', run: () => putUnderLoad({ server: service, ...load }) },
      { name: 'bare Bun.serve', run: () => putUnderLoad({ server: bare, ...load }) },
    );
    await Promise.all([service.stop(), bare.stop()]);
    const what = `Forged tokens refused, ${connections} connections, against a bare Bun.serve that answers the same bytes`;
    return [ratioFinding(what, comparison, 0.8)];
  },
};
