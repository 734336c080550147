// A backup is lines of JSON: a header, the rows of each table after a line with its columns, and a last line with the
// counts and a seal. It is the same whichever database it is from, so it also moves a service from one to the other.

import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { KeyRing } from '../../crypto/key-ring.ts';
import { linesOf } from '../../values/lines.ts';
import type { Value } from '../executor.ts';
import type { Tables } from '../schema.ts';

/** A reason that the operator can act on. */
export class BackupError extends Error {}

/**
 * Whether the rows of a table are in a backup; in the order in which they are restored, so that a row comes after those that it
 * refers to. Left out is what is over by the time a backup is restored: emails that waited, sign-ins that were under way, tokens of
 * services, how far the feed was read, and what was counted.
 */
const isBackedUp: Readonly<Record<keyof Tables, boolean>> = {
  users: true,
  organizations: true,
  memberships: true,
  service_keys: true,
  declarations: true,
  signing_keys: true,
  sessions: true,
  passkeys: true,
  // Otherwise the response to a challenge that has not expired could be used again.
  spent_challenges: true,
  events: true,
  event_chains: true,
  log_totals: true,
  email_changes: true,
  notices: true,
  feed_events: true,
  rate_limits: false,
  authorization_codes: false,
  device_authorizations: false,
  magic_links: false,
  service_tokens: false,
  outbox: false,
  // They refer to the email that lists the notices of a window.
  notice_windows: false,
  feed_readers: false,
  feed_acknowledgements: false,
};

export const backupTables = Object.entries(isBackedUp).flatMap(([table, isIn]) => (isIn ? [table] : []));

const formatName = 'latchkey-backup';

/** A line of a backup has one row, so this bounds a row. */
const maxLineBytes = 16 * 1024 * 1024;

const sealLabel = 'backup';

const header = z.strictObject({
  format: z.literal(formatName),
  version: z.literal(1),
  /** The release that wrote it. */
  release: z.string(),
  /** The newest migration of the database. */
  schema: z.string(),
  created_at: z.string(),
  /** The number of the feed that was drawn last. */
  feed_position: z.int(),
  /** The position in the security log that was drawn last. */
  event_position: z.int(),
});
export type BackupHeader = z.infer<typeof header>;

const tableStart = z.strictObject({
  table: z.string().regex(/^[a-z_]{1,63}$/),
  columns: z.array(z.string().regex(/^[a-z_]{1,63}$/)).min(1),
});

const row = z.array(z.union([z.string(), z.number(), z.null()]));

const footer = z.strictObject({
  rows: z.record(z.string(), z.int()),
  /** Of everything before this line. */
  sha256: z.string(),
  /** The id of a server key, a dot, and a MAC over the digest. */
  seal: z.string(),
});

export interface BackupRow {
  readonly table: string;
  readonly columns: readonly string[];
  readonly values: readonly Value[];
}

/** After the last row. */
export interface BackupEnd {
  /** False if the key of the seal is not in the ring. */
  readonly isSealed: boolean;
  readonly counts: RowCounts;
}

/** How many rows of each table there are. */
export type RowCounts = Readonly<Record<string, number>>;

const sealOf = (key: KeyRing['signing'], digest: Buffer): string =>
  `${key.id.toString('base64url')}.${key.mac(sealLabel, digest).toString('base64url')}`;

/** The lines of a backup. Counts its rows in `counts`. */
export async function* backupLines(
  start: Omit<BackupHeader, 'format' | 'version'>,
  rows: AsyncIterable<BackupRow>,
  keys: KeyRing,
  counts: Record<string, number>,
): AsyncGenerator<string> {
  const hash = createHash('sha256');
  const hashed = (value: unknown): string => {
    const line = JSON.stringify(value);
    hash.update(line).update('\n');
    return line;
  };
  yield hashed({ format: formatName, version: 1, ...start });
  for await (const { table, columns, values } of rows) {
    if (!(table in counts)) yield hashed({ table, columns });
    counts[table] = (counts[table] ?? 0) + 1;
    yield hashed(values);
  }
  const digest = hash.digest();
  const sha256 = digest.toString('base64url');
  yield JSON.stringify({ rows: counts, sha256, seal: sealOf(keys.signing, digest) });
}

const damaged = (number: number): BackupError =>
  new BackupError(`line ${number} is not as a backup has it: the file was changed or damaged`);

function parsed<S extends z.ZodType>(schema: S, value: unknown, number: number): z.output<S> {
  const result = schema.safeParse(value);
  if (!result.success) throw damaged(number);
  return result.data;
}

/** Undefined for a line that is too long, or is not JSON. */
function parseLine(line: Buffer | undefined): unknown {
  try {
    return line && JSON.parse(line.toString());
  } catch {
    return undefined;
  }
}

function readHeader(value: unknown): BackupHeader {
  const { success } = z.looseObject({ format: z.literal(formatName) }).safeParse(value);
  if (!success) throw new BackupError('it is not a backup of Latchkey');
  const result = header.safeParse(value);
  if (!result.success) throw new BackupError('it was written by a newer release of Latchkey');
  return result.data;
}

export interface SealCheck {
  readonly keys: KeyRing;
  /** Accepts a seal under a key that is not in the ring, and so cannot be verified. */
  readonly anyKeys: boolean;
}

/** Whether the seal could be verified. @throws {BackupError} if it does not verify */
function isSealed({ keys, anyKeys }: SealCheck, digest: Buffer, seal: string): boolean {
  const key = keys.find(Buffer.from(seal.split('.')[0] ?? '', 'base64url'));
  if (!key && anyKeys) return false;
  if (!key) {
    throw new BackupError(
      'it was made under keys that are not in the key ring: set LATCHKEY_KEYS, or put back the key file, as it was then. Without these keys every session ends and the security log cannot be verified; if they are lost, use --any-keys',
    );
  }
  if (sealOf(key, digest) !== seal) throw new BackupError('its seal does not verify: the file was changed');
  return true;
}

const isFooter = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && 'sha256' in value;

/**
 * Reads a backup: its header first, then every row, then whether its seal could be verified. Ends without an error only if it is
 * complete and, by what can be verified, as it was written.
 * @throws {BackupError}
 */
export async function* readBackup(
  chunks: AsyncIterable<Uint8Array>,
  check: SealCheck,
): AsyncGenerator<BackupHeader | BackupRow | BackupEnd> {
  const hash = createHash('sha256');
  const counts: Record<string, number> = {};
  let current: z.infer<typeof tableStart> | undefined;
  let number = 0;
  let isComplete = false;
  for await (const line of linesOf(chunks, maxLineBytes)) {
    number++;
    if (isComplete) throw damaged(number);
    const value = parseLine(line);
    if (number === 1) yield readHeader(value);
    else if (isFooter(value)) {
      yield { isSealed: readFooter(parsed(footer, value, number), hash.digest(), counts, check), counts };
      isComplete = true;
      continue;
    } else if (Array.isArray(value)) {
      const values = parsed(row, value, number);
      if (values.length !== current?.columns.length) throw damaged(number);
      counts[current.table] = (counts[current.table] ?? 0) + 1;
      yield { ...current, values };
    } else {
      current = parsed(tableStart, value, number);
    }
    hash.update(line!).update('\n');
  }
  if (!isComplete) throw new BackupError('it is incomplete: its end is missing');
}

function readFooter(
  { rows, sha256, seal }: z.infer<typeof footer>,
  digest: Buffer,
  counts: RowCounts,
  check: SealCheck,
): boolean {
  const isSame = Object.entries({ ...rows, ...counts }).every(([table]) => rows[table] === counts[table]);
  if (sha256 !== digest.toString('base64url') || !isSame) {
    throw new BackupError('its content does not match its digest: the file was changed or damaged');
  }
  return isSealed(check, digest, seal);
}
