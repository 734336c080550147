import type { Context } from '../../platform/context.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { Auditor, checkChainCount, checkTotal, macBeforeNext, reseal, sealingKeyOf } from './chain.ts';
import { accounts, batchSize, eventsOf } from './reading.ts';
import * as store from './store.ts';

/** Audits the log of one user or, one after the other, of all users. Concurrent writes to a log are not reported as defects. */
export async function* auditLogs(ctx: Context, userId: string | undefined) {
  for await (const id of accounts(ctx, userId)) {
    const audit = await auditLog(ctx, ctx.db.read, store.findChain, id);
    const isIntact = audit?.findings.length === 0;
    const settled = isIntact
      ? audit
      : await ctx.db.transaction((tx) => auditLog(ctx, tx, store.lockChain, id));
    if (settled) yield { userId: id, audit: settled };
  }
}

/** Undefined when the account is gone. */
async function auditLog(ctx: Context, on: Executor, find: typeof store.findChain, userId: string) {
  const [chain] = await find(on, { user_id: userId });
  if (!chain) {
    const [account] = await store.findAccount(on, { id: userId });
    const findings = [
      { problem: 'no chain' as const, where: 'the record of the ends of the log is missing' },
    ];
    return account && { findings, events: 0, retired: 0, retiredKeys: new Set<string>() };
  }
  const auditor = new Auditor(ctx.logKeys, chain);
  for await (const row of eventsOf(on, userId)) auditor.take(row);
  const audit = auditor.finish();
  const count = checkChainCount(ctx.logKeys, chain);
  if (count === 'changed') audit.findings.push({ problem: 'end changed', where: 'the number of its events' });
  if (count === 'retired') audit.retired += 1;
  return audit;
}

/** Whether the logs have as many events as were counted; `retired` how many totals cannot be checked. */
export async function auditTotals({ db, logKeys }: Pick<Context, 'db' | 'logKeys'>) {
  const rows = await store.listTotals(db.read, {});
  const totals = rows.flatMap(({ bucket, total, seal }) =>
    bucket === null || total === null || seal === null ? [] : [{ bucket, total, seal }],
  );
  const states = totals.map((row) => checkTotal(logKeys, row));
  const counted = totals.reduce((sum, { total }) => sum + total, 0);
  return {
    isComplete: counted === rows[0]!.counted && !states.includes('changed'),
    retired: states.filter((state) => state === 'retired').length,
  };
}

/**
 * Deletes about `limit` events from before a moment, the oldest of each log first, and moves the base of each log
 * forward. A log with defects is left alone and reported as a warning. Returns a row for each deleted event.
 */
export async function sweepEvents(ctx: Context, before: number, limit: number): Promise<{ id: string }[]> {
  const expired = await store.findExpiredChains(ctx.db.read, { before, limit });
  const deleted: { id: string }[] = [];
  for (const { user_id } of expired) {
    if (deleted.length >= limit) break;
    deleted.push(...(await ctx.db.transaction((tx) => sweepLog(ctx, tx, user_id, before))));
  }
  return deleted;
}

async function sweepLog(ctx: Context, tx: Executor, userId: string, before: number) {
  const [chain] = await store.lockFreeChain(tx, { user_id: userId });
  if (!chain) return [];
  const after = { user_id: userId, after_seq: chain.base_seq, limit: batchSize + 1 };
  const rows = await store.listEventsAfter(tx, after);
  const auditor = new Auditor(ctx.logKeys, chain);
  for (const row of rows) auditor.take(row);
  const { findings } = rows.length <= batchSize ? auditor.finish() : auditor.audit;
  if (findings.length > 0) {
    ctx.log.warn({ user: userId }, 'a security log is damaged and was not swept: run events verify');
    await store.postponeSweep(tx, { user_id: userId, oldest_at: ctx.clock() });
    return [];
  }
  const kept = rows.findIndex((row) => row.created_at >= before);
  const expired = rows.slice(0, kept < 0 ? batchSize : Math.min(kept, batchSize));
  const last = expired.at(-1);
  const oldest_at = rows[expired.length]?.created_at ?? null;
  if (!last) {
    await store.postponeSweep(tx, { user_id: userId, oldest_at });
    return [];
  }
  const head_mac = macBeforeNext(ctx.logKeys, chain);
  const next = { ...chain, base_seq: last.seq, base_mac: last.mac, head_mac, oldest_at };
  await store.updateChain(tx, reseal(ctx.logKeys, next));
  return store.deleteEvents(tx, { user_id: userId, up_to_seq: last.seq });
}

/**
 * When each server key last sealed something in the stored security log, by its id: milliseconds since 1970. A key that signs
 * tokens also seals the events of their sign-ins, but a refresh leaves no event.
 */
export async function lastSeals(ctx: Context): Promise<ReadonlyMap<string, number>> {
  const rows = await store.lastSeals(ctx.db.read, {});
  return new Map(rows.map(({ key_id, sealed_at }) => [key_id, sealed_at]));
}

/**
 * The server key of the newest seal in the security log, and the account whose log has it, if that key is not among these; undefined
 * if it is, or if nothing is sealed.
 */
export async function findMissingSealKey(on: Executor, { logKeys }: Partial<Pick<Context, 'logKeys'>>) {
  // Its events may all be older than what is kept.
  const [newest] = [...(await store.newestSeal(on, {})), ...(await store.anyChainSeal(on, {}))];
  if (!newest) return undefined;
  const keyId = sealingKeyOf(newest.mac);
  return logKeys?.find(Buffer.from(keyId, 'base64url')) ? undefined : { keyId, userId: newest.user_id };
}

/** When another server key sealed its first event after this one had sealed its last; undefined if none has. */
export async function sealedByAnotherAt(
  ctx: Context,
  { keyId, lastSeal }: { readonly keyId: string; readonly lastSeal: number },
): Promise<number | undefined> {
  const [row] = await store.firstSealByAnother(ctx.db.read, { key_id: keyId, after: lastSeal });
  return row?.sealed_at ?? undefined;
}
