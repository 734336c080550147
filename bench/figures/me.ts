// GET /me with many sessions in the store, against the least program that keeps the same promises, and against a bare
// server that answers the same bytes.

import { connections, mePath, putUnderLoad, withTokens } from '../support/load.ts';
import { type Figure, ratioFinding, ratioMeasurement } from '../support/report.ts';
import { compare, roundSeconds } from '../support/rounds.ts';
import { startBareServer, startFloor } from '../support/service.ts';
import { accessTokens, askMe, openStand, recordMe, tokensInTurn } from '../support/stand.ts';

const sessions = 100_000;

export const me: Figure = {
  name: 'me',
  run: async () => {
    const stand = await openStand(sessions);
    const tokens = accessTokens(stand);
    const answer = await recordMe(stand, tokens[0]!);
    if (answer.status !== 200) throw new Error(`GET /me: ${answer.status} ${answer.body}`);
    const floor = await startFloor('me', { databaseUrl: stand.databaseUrl, keys: stand.ring });
    const bare = await startBareServer(answer);
    const expected = { status: 200, bytes: answer.bytes };
    const load = { requests: withTokens(mePath, tokens), seconds: roundSeconds, expected };
    const subject = { name: 'GET /me', run: () => askMe(stand, tokens, answer.bytes) };
    const toFloor = await compare(subject, {
      name: 'floor',
      run: () => putUnderLoad({ server: floor, ...load }),
    });
    const toBare = await compare(subject, {
      name: 'bare Bun.serve',
      run: () => putUnderLoad({ server: bare, ...load }),
    });
    await Promise.all([stand.server.stop(), floor.stop(), bare.stop()]);
    const what = `GET /me, ${sessions.toLocaleString('en')} sessions, ${tokensInTurn.toLocaleString('en')} tokens in turn, SQLite, ${connections} connections`;
    return [
      ratioFinding(`${what}, against its floor`, toFloor, 0.8),
      ratioMeasurement(`${what}, against a bare Bun.serve that answers the same bytes`, toBare),
    ];
  },
};
