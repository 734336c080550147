// GET /me and POST /refresh on a database a hundred times as large as another.

import { connections } from '../support/load.ts';
import { type Figure, ratioFinding } from '../support/report.ts';
import { compare, type Side } from '../support/rounds.ts';
import { accessTokens, askMe, openStand, recordMe, refreshRounds, type Stand } from '../support/stand.ts';

const few = 10_000;
const many = 1_000_000;

const nameOf = ({ sessions }: Stand): string => `${sessions.toLocaleString('en')} sessions`;

async function meSide(stand: Stand): Promise<Side> {
  const tokens = accessTokens(stand);
  const { bytes } = await recordMe(stand, tokens[0]!);
  return { name: nameOf(stand), run: () => askMe(stand, tokens, bytes) };
}

const refreshSide = async (stand: Stand): Promise<Side> => ({
  name: nameOf(stand),
  run: await refreshRounds(stand),
});

export const size: Figure = {
  name: 'size',
  run: async () => {
    const [large, small] = [await openStand(many), await openStand(few)];
    const setting = `${nameOf(large)} against ${nameOf(small)}, SQLite, ${connections} connections`;
    const me = await compare(await meSide(large), await meSide(small));
    const refresh = await compare(await refreshSide(large), await refreshSide(small));
    await Promise.all([large.server.stop(), small.server.stop()]);
    return [
      ratioFinding(`GET /me, ${setting}`, me, 0.9),
      ratioFinding(`POST /refresh, ${setting}`, refresh, 0.8),
    ];
  },
};
