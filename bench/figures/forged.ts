// Access tokens with the right format and key id but a wrong MAC, against the least program that does
// the same, and against a bare server that answers the same bytes.
// tests/invariants/no-statement.test.ts checks that they cause no database statement.

import { generateKey, parseKeyRing } from '../../packages/server/src/platform/crypto/key-ring.ts';
import { connections, mePath, putUnderLoad, recordAnswer, withTokens } from '../support/load.ts';
import { type Figure, ratioFinding } from '../support/report.ts';
import { compare, roundSeconds } from '../support/rounds.ts';
import { refusalOf, startBareServer, startFloor, startService } from '../support/service.ts';
import { bearer, forgedTokens, sqliteUrl, tokensInTurn } from '../support/stand.ts';

export const forged: Figure = {
  name: 'forged',
  run: async () => {
    const ring = generateKey();
    const databaseUrl = sqliteUrl();
    const service = await startService({ databaseUrl, keys: ring });
    const tokens = forgedTokens(parseKeyRing(ring), tokensInTurn);
    const answer = await recordAnswer(service.url + mePath, bearer(tokens[0]!));
    if (answer.status !== 401) throw new Error(`a forged token got status ${answer.status}`);
    const floor = await startFloor('me', { databaseUrl, keys: ring }, refusalOf(answer));
    const bare = await startBareServer(answer);
    const load = { requests: withTokens(mePath, tokens), seconds: roundSeconds, expected: answer };
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
