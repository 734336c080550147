// GET /me with many sessions in the store, against a bare server that answers the same bytes.

import { connections, mePath, putUnderLoad } from '../support/load.ts';
import { type Figure, ratioFinding } from '../support/report.ts';
import { compare, roundSeconds } from '../support/rounds.ts';
import { startBareServer } from '../support/service.ts';
import { accessTokens, askMe, openStand, recordMe, tokensInTurn } from '../support/stand.ts';

const sessions = 100_000;

export const me: Figure = {
  name: 'me',
  run: async () => {
    const stand = await openStand(sessions);
    const tokens = accessTokens(stand);
    const answer = await recordMe(stand, tokens[0]!);
    if (answer.status !== 200) throw new Error(`GET /me: ${answer.status} ${answer.body}`);
    const bare = await startBareServer(answer);
    const expected = { status: 200, bytes: answer.bytes };
    const comparison = await compare(
      { name: 'GET /me', run: () => askMe(stand, tokens, answer.bytes) },
      {
        name: 'bare Bun.serve',
        run: () => putUnderLoad({ server: bare, path: mePath, tokens, seconds: roundSeconds, expected }),
      },
    );
    await Promise.all([stand.server.stop(), bare.stop()]);
    const what = `GET /me, ${sessions.toLocaleString('en')} sessions, ${tokensInTurn.toLocaleString('en')} tokens in turn, SQLite, ${connections} connections, against a bare Bun.serve that answers the same bytes`;
    return [ratioFinding(what, comparison, 0.5)];
  },
};
