import { setImmediate as nextTurn } from 'node:timers/promises';
import type { User } from '@latchkey/contract/users';
import type { Context } from '../../platform/context.ts';
import type { PageRequest } from '../../platform/database/pagination.ts';
import { invalidRequest, resourceNotFound } from '../../platform/errors.ts';
import { shown } from '../../platform/values/shown.ts';
import * as store from './store.ts';

type Row = Awaited<ReturnType<typeof store.findUser>>[number];

const userOf = (row: Row): User => ({
  ...shown(row, ['id', 'email', 'email_verified', 'name', 'avatar_url']),
  email_verified: row.email_verified === 1,
  disabled: row.disabled_at !== null,
  ...shown(row, ['created_at']),
});

function requireUser([row]: readonly Row[]): User {
  if (!row) throw resourceNotFound();
  return userOf(row);
}

/** @throws {AuthError} `not_found` */
export const getUser = async (ctx: Context, id: string): Promise<User> =>
  requireUser(await store.findUser(ctx.db.read, { id }));

/** @throws {AuthError} `not_found` */
export const lookupUser = async (ctx: Context, emailKey: string): Promise<User> =>
  requireUser(await store.findUserByEmail(ctx.db.read, { email_key: emailKey }));

/** How many accounts a search examines at once. On SQLite other requests wait for that. */
const partSize = 2_000;

/** How many parts a search examines for one page. */
const maxParts = 50;

/** Settles after the searches so far: on SQLite other requests wait for one part of one search at a time. */
let lastSearch: Promise<unknown> = Promise.resolve();

/**
 * One page of the accounts, by address; with `search`, of those whose address or name contains it. No index
 * finds part of a text, so a search reads on until the page is full or it has examined 100,000 accounts: then
 * the page is short, and the next one continues from there.
 */
export async function listUsers(
  ctx: Context,
  { search = '', limit, cursor }: PageRequest & { readonly search?: string | undefined },
  part = { size: partSize, max: maxParts },
): Promise<{ users: User[]; next_cursor: string | null }> {
  const after = parseAddressCursor(cursor);
  if (search === '') return pageOf(await store.listUsers(ctx.db.read, { after, limit: limit + 1 }), limit);
  const page = lastSearch.then(() => searchUsers(ctx, { text: search.toLowerCase(), limit, after }, part));
  lastSearch = page.catch(() => undefined);
  return page;
}

async function searchUsers(
  ctx: Context,
  { text, limit, after }: { readonly text: string; readonly limit: number; after: string },
  part: { readonly size: number; readonly max: number },
): Promise<{ users: User[]; next_cursor: string | null }> {
  const found: Row[] = [];
  for (let parts = 1; ; parts++) {
    const rows = await store.listUsers(ctx.db.read, { after, limit: part.size });
    // Not in SQL: SQLite ignores the case of A-Z only.
    const matches = ({ email, email_key, name }: Row) =>
      [email, email_key, name].some((value) => value.toLowerCase().includes(text));
    found.push(...rows.filter(matches));
    const last = rows.at(-1);
    if (!last || rows.length < part.size || found.length > limit) return pageOf(found, limit);
    if (parts === part.max) return { users: found.map(userOf), next_cursor: addressCursor(last.email_key) };
    after = last.email_key;
    await nextTurn();
  }
}

function pageOf(rows: readonly Row[], limit: number): { users: User[]; next_cursor: string | null } {
  const entries = rows.slice(0, limit);
  const last = rows.length > limit ? entries.at(-1) : undefined;
  return { users: entries.map(userOf), next_cursor: last ? addressCursor(last.email_key) : null };
}

/** A cursor of the list of accounts is the address that it continues after. */
const addressCursor = (emailKey: string): string => Buffer.from(emailKey).toString('base64url');

/** @throws {AuthError} `invalid_request` for a cursor that this service did not issue */
function parseAddressCursor(cursor: string | undefined): string {
  if (cursor === undefined) return '';
  const address = Buffer.from(cursor, 'base64url').toString('utf8');
  if (address.includes('@') && !address.includes('\0') && addressCursor(address) === cursor) return address;
  throw invalidRequest('cursor: is not one that this service made');
}

// Counts accounts and sessions for the metrics.

/** How many accounts are counted at once. On SQLite requests wait for that. */
const pageSize = 1_000;

/** How many times as long as a page took the census rests: it takes at most 0.5% of a core. */
const usualRestFactor = 200;

const pauseMs = 60_000;

/** Counts all accounts and active sign-ins, one page after the other; undefined if it is aborted. */
export async function countAccounts(
  ctx: Context,
  signal?: AbortSignal,
  { limit, restFactor } = { limit: pageSize, restFactor: usualRestFactor },
): Promise<{ accounts: number; sessions: number } | undefined> {
  let [accounts, sessions] = [0, 0];
  for (let after = ''; ; ) {
    const startedAt = ctx.timers.monotonic();
    const [page] = await store.countPage(ctx.db.read, { after, now: ctx.clock(), limit });
    accounts += Number(page?.accounts ?? 0);
    sessions += Number(page?.sessions ?? 0);
    if (!page?.last_id || Number(page.accounts) < limit) return { accounts, sessions };
    after = page.last_id;
    await ctx.timers.sleep((ctx.timers.monotonic() - startedAt) * restFactor, signal);
    if (signal?.aborted) return undefined;
  }
}

/**
 * Counts again and again until it is aborted, so that reading the metrics costs nothing. The gauges are NaN
 * until the first count has ended, and after a count that failed.
 */
export async function keepCounting(ctx: Context, signal: AbortSignal): Promise<void> {
  const { accounts, activeSessions } = ctx.metrics;
  const failed = { accounts: Number.NaN, sessions: Number.NaN };
  while (!signal.aborted) {
    const counted = await countAccounts(ctx, signal).catch(() => failed);
    if (counted) {
      accounts.set(counted.accounts);
      activeSessions.set(counted.sessions);
    }
    await ctx.timers.sleep(pauseMs, signal);
  }
}
