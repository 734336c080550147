// One node on SQLite, on a disk of its own that can be filled if this process may mount one.

import { appendFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { mountDisk } from '#support/disk.ts';
import { temporaryDirectory } from '#support/service.ts';
import { startSmtp } from '#support/smtp.ts';
import { type FaultNode, startFaultNode } from './node.ts';
import { mailFaults, nodeFaults, type Site, settingsWith } from './site.ts';

const diskSize = '64m';
/** Half a page of a frame that was never completed. */
const tornBytes = 2_072;

/** The process dies while it writes: the log ends in a part of a frame. What was acknowledged is complete before that. */
async function tear(node: FaultNode, log: string): Promise<void> {
  await node.kill();
  if (existsSync(log)) appendFileSync(log, crypto.getRandomValues(new Uint8Array(tornBytes)));
}

export async function openSqliteSite(): Promise<Site> {
  const smtp = await startSmtp();
  const directory = temporaryDirectory();
  const disk = mountDisk(directory, diskSize);
  const file = join(directory, 'latchkey.db');
  const env = settingsWith(smtp);
  const node = await startFaultNode({ name: 'n0', directory, env, databaseUrl: `sqlite:${file}` });
  const mayRepeatMails = true;
  return {
    nodes: [node],
    smtp,
    faults: [
      ...nodeFaults(() => node),
      {
        name: 'disk that returns errors',
        start: () => node.limitFiles(true),
        end: () => node.limitFiles(false),
        mayRepeatMails,
      },
      // Only root can mount one.
      ...(disk ? [{ name: 'full disk', start: disk.fill, end: disk.free, mayRepeatMails }] : []),
      { name: 'torn WAL', start: () => tear(node, `${file}-wal`), end: () => node.start(), mayRepeatMails },
      ...mailFaults(smtp),
    ],
    settings: () => node.running().env,
    close: async () => {},
  };
}
