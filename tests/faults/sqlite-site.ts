// One node on SQLite, on a disk of its own that can be filled if this process may mount one.

import { appendFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { mountDisk, type SmallDisk } from '../support/disk.ts';
import { temporaryDirectory } from '../support/service.ts';
import { startSmtp } from '../support/smtp.ts';
import { fault, mailFaults, nodeFaults } from './common-faults.ts';
import { ProcessNode } from './process-node.ts';
import { settingsFor } from './settings.ts';
import type { Fault, Site } from './site.ts';

const diskSize = '64m';
/** Half a page of a frame that was never completed. */
const tornBytes = 2_072;

function diskFaults(node: ProcessNode, disk: SmallDisk | undefined): Fault[] {
  const failing = fault(
    'disk that returns errors',
    () => node.limitFiles(true),
    () => node.limitFiles(false),
    { mayRepeatMails: true },
  );
  if (disk === undefined) return [failing];
  const full = fault(
    'full disk',
    () => disk.fill(),
    () => disk.free(),
    { mayRepeatMails: true },
  );
  return [full, failing];
}

/** The process dies while it writes: the log ends in a part of a frame. What was acknowledged is complete before that. */
const tornLog = (node: ProcessNode, databaseFile: string): Fault =>
  fault(
    'torn WAL',
    async () => {
      await node.kill();
      const log = `${databaseFile}-wal`;
      if (existsSync(log)) appendFileSync(log, crypto.getRandomValues(new Uint8Array(tornBytes)));
    },
    () => node.start(),
    { mayRepeatMails: true },
  );

export async function openSqliteSite(): Promise<Site> {
  const smtp = await startSmtp();
  const directory = temporaryDirectory();
  const disk = mountDisk(directory, diskSize);
  const databaseFile = join(directory, 'latchkey.db');
  const origin = 'http://localhost:8787';
  const env = { ...settingsFor({ origin, smtp }), DATABASE_URL: `sqlite:${databaseFile}` };
  const node = await ProcessNode.start({ name: 'n0', directory, env, countsInMemory: true });
  return {
    nodes: [node],
    origin,
    smtp,
    faults: [
      ...nodeFaults(() => node),
      ...diskFaults(node, disk),
      tornLog(node, databaseFile),
      ...mailFaults(smtp),
    ],
    skipped: [
      'clock of a node: there is one node, and its clock is the time',
      ...(disk === undefined ? ['full disk: only root can mount a small one'] : []),
    ],
    recovered: (anyAddress) => node.recovered(anyAddress),
    settings: () => node.env,
    stop: async () => {
      await node.stop();
      node.close();
      await smtp.close();
    },
  };
}
