// GET /me and POST /refresh over one connection up to thousands of them.

import { storeName } from '../support/cells.ts';
import { type Cluster, openLarge, startCluster } from '../support/cluster.ts';
import { type Case, measureGrowth } from '../support/growth.ts';
import { mePath, putUnderLoad, withTokens } from '../support/load.ts';
import type { Figure, Measurement } from '../support/report.ts';
import { accessTokens, recordMe, refreshRounds, type Stand } from '../support/stand.ts';

const accounts = 100_000;
const connectionCounts = [1, 8, 32, 256, 2000];
/** Long enough for each of two thousand connections to get several responses. */
const seconds = 2;

async function casesOf(stand: Stand): Promise<Case[]> {
  const { server } = stand;
  const tokens = accessTokens(stand);
  const { status, bytes } = await recordMe(stand, tokens[0]!);
  const load = { server, requests: withTokens(mePath, tokens), expected: { status, bytes } };
  const me: Case[] = [];
  const refresh: Case[] = [];
  for (const connections of connectionCounts) {
    const each = { seconds, connections };
    me.push({ request: 'GET /me', size: connections, run: () => putUnderLoad({ ...load, ...each }) });
    refresh.push({
      ...{ request: 'POST /refresh', size: connections },
      run: await refreshRounds(stand, each),
    });
  }
  return [...me, ...refresh];
}

async function measure(cluster?: Cluster): Promise<Measurement> {
  const stand = await openLarge(accounts, cluster);
  const what = `GET /me and POST /refresh by connections, ${accounts.toLocaleString('en')} accounts, ${storeName[cluster ? 'postgres' : 'sqlite']}`;
  const ours = cluster ? [cluster.pid] : [];
  const measured = await measureGrowth(await casesOf(stand), { what, grows: 'connections', ours });
  await stand.server.stop();
  return measured;
}

export const connections: Figure = {
  name: 'connections',
  run: async () => [await measure(), await measure(await startCluster())],
};
