// Tells a person at a terminal that the server runs a newer version than this program, at most once a day. Nothing is sent
// for it: the responses to commands name the version.

import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute } from 'node:path';
import manifest from '../package.json' with { type: 'json' };
import type { Config } from './config.ts';
import type { Output } from './output.ts';

const dayMs = 86_400_000;

/** @param version as the server says */
export function noticeNewerVersion(output: Output, config: Config, server: string, version: string): void {
  if (config.noUpdateNotice || !isNewer(version, manifest.version)) return;
  if (!claimDay(config.updateNoticeFile, Date.now())) return;
  output.message({ newer_version: version }, () => [
    '',
    `There is a newer version of latchkey: ${server} runs ${version}, and this is ${manifest.version}.`,
    'NO_UPDATE_NOTIFIER=1 turns this notice off.',
  ]);
}

/** Whether a release is newer than this version. Pre-releases, and what is no version, never are. */
export function isNewer(release: string, version: string): boolean {
  const numbers = /^(\d{1,6})\.(\d{1,6})\.(\d{1,6})$/.exec(release)?.slice(1).map(Number);
  if (!numbers) return false;
  const [core = '', preRelease] = version.split('-', 2);
  const own = core.split('.').map(Number);
  const index = numbers.findIndex((number, at) => number !== own[at]);
  return index === -1 ? preRelease !== undefined : numbers[index]! > (own[index] ?? 0);
}

/** Whether the last notice is at least 24 hours old. Also false if the new one cannot be recorded. */
function claimDay(file: string, now: number): boolean {
  try {
    const last = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    // A time in the future comes from a clock that was set back since.
    if (!isAbsolute(file) || (last <= now && now - last < dayMs)) return false;
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(file, `${new Date(now).toISOString()}\n`);
    return true;
  } catch {
    return false;
  }
}
