// A login with many runs below it ends at its root, in one request, while the service is under load.

import { randomBytes } from 'node:crypto';
import { mintHandle, subjectBytes } from '../../packages/server/src/platform/crypto/handle.ts';
import type { KeyRing } from '../../packages/server/src/platform/crypto/primitives.ts';
import { openDatabase } from '../../packages/server/src/platform/database/database.ts';
import type { Executor } from '../../packages/server/src/platform/database/executor.ts';
import { insertRun } from '../../packages/server/src/sessions/runs/store.ts';
import { sessionIdOf } from '../../packages/server/src/sessions/tokens.ts';
import { startPostgres } from '../../tests/support/postgres.ts';
import { concurrently } from '../support/concurrently.ts';
import { connections, mePath, putUnderLoad, withTokens } from '../support/load.ts';
import type { Figure, Finding } from '../support/report.ts';
import { median } from '../support/rounds.ts';
import { accessTokens, bearer, recordMe, type Stand, sqliteUrl, standOn } from '../support/stand.ts';
import { accessTokenOf, fillStore, sessionIdAt } from '../support/store.ts';

const sessions = 20_000;
/** How many runs each session or run has within it, at each depth: 10,000 in all. */
const runsWithin = [10, 9, 110];
/** The logins that end, which the load does not use. */
const roots = [1, 3, 5];
const runLifetimeMs = 3_600_000;
const maxEndMs = 1_000;
const loadSeconds = 3;
const loadStartMs = 1_000;

interface Tree {
  readonly rootToken: string;
  readonly secrets: readonly Buffer[];
}

/** Makes the runs below a login, one depth after the other. */
async function addTree(tx: Executor, root: string): Promise<Buffer[]> {
  const now = Date.now();
  const all: Buffer[] = [];
  let parents = [[root]];
  for (const each of runsWithin) {
    const paths: string[][] = [];
    for (const parent of parents) {
      for (let index = 0; index < each; index++) {
        const secret = randomBytes(subjectBytes);
        const path = [sessionIdOf(secret), ...parent];
        const [row] = await insertRun(tx, {
          id: path[0]!,
          within_session_id: parent[0]!,
          path: JSON.stringify(path),
          root_session_id: root,
          ...{ service_id: null, actor: null, client_name: null, token_ttl_seconds: null },
          ...{ scope: 'profile', resource: null, authorization_details: null },
          ...{ ip_address: '192.0.2.44', user_agent: 'bench' },
          ...{ now, idle_expires_at: now + runLifetimeMs, expires_at: now + runLifetimeMs },
        });
        if (!row) throw new Error('a run was not made');
        paths.push(path);
        all.push(secret);
      }
    }
    parents = paths;
  }
  return all;
}

const tokenOf = (keys: KeyRing, subject: Buffer): string =>
  mintHandle(keys, 'accessToken', { subject, value: Date.now() + runLifetimeMs / 2 });

/** How many of the runs are accepted, each of them asked. */
async function acceptedOf({ server, keys }: Stand, { secrets }: Tree): Promise<number> {
  let accepted = 0;
  await concurrently(connections, secrets.length, async (index) => {
    const { status } = await fetch(server.url + mePath, bearer(tokenOf(keys, secrets[index]!)));
    if (status !== 200 && status !== 401) throw new Error(`a run was answered ${status}`);
    if (status === 200) accepted++;
  });
  return accepted;
}

/** Milliseconds of the request that ends the root, in the middle of a load by other sessions. */
async function endUnderLoad(stand: Stand, tree: Tree, tokens: readonly string[]): Promise<number> {
  const { status, bytes } = await recordMe(stand, tokens[0]!);
  const { server } = stand;
  const load = putUnderLoad({
    server,
    requests: withTokens(mePath, tokens),
    seconds: loadSeconds,
    expected: { status, bytes },
  });
  await Bun.sleep(loadStartMs);
  const startedAt = performance.now();
  const url = `${server.url}/api/v1/auth/logout?scope=session`;
  const answer = await fetch(url, { method: 'DELETE', ...bearer(tree.rootToken) });
  const elapsed = performance.now() - startedAt;
  if (answer.status !== 204) throw new Error(`the end of the root was answered ${answer.status}`);
  await load;
  return elapsed;
}

async function measure(name: string, databaseUrl: string): Promise<Finding> {
  await fillStore(databaseUrl, sessions);
  const secrets: Buffer[][] = [];
  const db = await openDatabase(databaseUrl, { log: { warn: () => undefined } });
  for (const root of roots) secrets.push(await db.transaction((tx) => addTree(tx, sessionIdAt(root))));
  await db.close();
  const stand = await standOn(databaseUrl, sessions);
  const others = accessTokens(stand);
  const times: number[] = [];
  for (const [index, root] of roots.entries()) {
    const tree = { rootToken: accessTokenOf(stand.keys, root), secrets: secrets[index]! };
    const before = await acceptedOf(stand, tree);
    if (before !== tree.secrets.length) throw new Error(`only ${before} runs were accepted`);
    times.push(await endUnderLoad(stand, tree, others));
    const after = await acceptedOf(stand, tree);
    if (after > 0) throw new Error(`${after} runs were accepted after their login had ended`);
  }
  await stand.server.stop();
  const runs = secrets[0]!.length.toLocaleString('en');
  return {
    what: `A login with ${runs} runs below it at depths 1 to 3 ends in one request, under load, ${name}`,
    value: Math.max(...times),
    unit: 'ms',
    promise: { atMost: maxEndMs },
    details: [
      `${roots.length} logins: ${times.map((time) => time.toFixed(1)).join(', ')} ms, median ${median(times).toFixed(1)} ms`,
      `afterwards 0 of ${runs} runs were accepted, each of them asked`,
    ],
  };
}

export const runTree: Figure = {
  name: 'run-tree',
  run: async () => [
    await measure('SQLite', sqliteUrl()),
    await measure('PostgreSQL', await (await startPostgres({ durable: true })).createDatabase()),
  ],
};
