// How many events all logs have had. An attacker who sets one log back to an earlier state leaves a chain that is intact, but fewer
// events than were counted.

import type { Context } from '../../platform/context.ts';
import { sha256 } from '../../platform/crypto/hash.ts';
import type { LogKeys } from '../../platform/crypto/key-ring.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { type ChainRow, type Check, checkSeal, type Fields, sealOf } from './chain.ts';
import * as store from './store.ts';

/** Logs of different buckets are written at the same time; those of one wait for each other. */
const buckets = 16;

const bucketOf = (userId: string): number => sha256('log bucket', userId)[0]! % buckets;

/**
 * What continues a count that is not good says so for good: no new seal can hide that it was changed (`changed`), or that it could not be
 * checked because a key is missing (`retired`).
 */
const marks = { good: [], changed: ['broken'], retired: ['unchecked'] } as const;

const sealCount = (keys: LogKeys, label: string, fields: Fields, state: Check): string =>
  sealOf(keys, label, [...fields, ...marks[state]]);

function checkCount(keys: LogKeys, label: string, fields: Fields, seal: string): Check {
  const good = checkSeal(keys, label, fields, seal);
  if (good !== 'changed') return good;
  return checkSeal(keys, label, [...fields, ...marks.retired], seal) === 'good' ? 'retired' : 'changed';
}

type TotalRow = Awaited<ReturnType<typeof store.lockTotal>>[number];

const totalLabel = 'security log total';

export const checkTotal = (keys: LogKeys, { bucket, total, seal }: TotalRow): Check =>
  total === 0 && seal === '' ? 'good' : checkCount(keys, totalLabel, [bucket, total], seal);

const chainLabel = 'security log count';

type Count = Pick<ChainRow, 'bucket' | 'counted' | 'counted_seq' | 'count_seal'>;

const countFields = ({
  user_id,
  counted,
  counted_seq,
}: Pick<ChainRow, 'user_id' | 'counted' | 'counted_seq'>): Fields => [user_id, counted, counted_seq];

/** Whether a log still has the event that was counted last. */
export function checkChainCount(keys: LogKeys, chain: ChainRow): Check {
  if (chain.counted === 0 && chain.count_seal === '') return 'good';
  if (chain.head_seq < chain.counted_seq) return 'changed';
  return checkCount(keys, chainLabel, countFields(chain), chain.count_seal);
}

/** The count of a chain with its next event, which has this number. */
export function nextCount(keys: LogKeys, chain: ChainRow, seq: number): Count {
  const { user_id } = chain;
  const next = { counted: chain.counted + 1, counted_seq: seq };
  const fields = countFields({ user_id, ...next });
  return {
    ...next,
    bucket: bucketOf(user_id),
    count_seal: sealCount(keys, chainLabel, fields, checkChainCount(keys, chain)),
  };
}

/** Adds to the total of a bucket, in the transaction that changes how many events of a log are counted. Call it last. */
export async function addToTotal(
  { logKeys }: Pick<Context, 'logKeys'>,
  tx: Executor,
  bucket: number,
  added: number,
): Promise<void> {
  const row = await lockTotal(tx, bucket);
  const total = row.total + added;
  const seal = sealCount(logKeys, totalLabel, [bucket, total], checkTotal(logKeys, row));
  await store.updateTotal(tx, { bucket, total, seal });
}

async function lockTotal(tx: Executor, bucket: number): Promise<TotalRow> {
  const [row] = await store.lockTotal(tx, { bucket });
  if (row) return row;
  await store.insertTotal(tx, { bucket });
  return (await store.lockTotal(tx, { bucket }))[0]!;
}
