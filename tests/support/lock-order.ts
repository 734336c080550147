// Holds each transaction of the service on PostgreSQL to the order of locks (`accounts/locks.ts`). A transaction that
// takes them in another order, or writes what belongs to an account without its lock, fails at once, whether or not
// another one is in its way.

import type { Database, Executor } from '../../packages/server/src/platform/database/executor.ts';

/** Rows owned by an account: cascades delete them under its lock, and their foreign keys lock it. */
const owned =
  /(?:^|as \()(?:insert into|update|delete from) "(?:sessions|passkeys|authorization_codes|device_authorizations|email_changes|notices|notice_windows|memberships)"/;
const logWrite = /(?:^|as \()(?:insert into|update|delete from) "(?:events|event_chains|log_totals)"/;
const freeLogLock = /from "event_chains".* skip locked$/s;
const linkWrite = /(?:^|as \()(?:update|delete from) "magic_links"/;
const addressLock = /lock_address\(|address_locks/;
const challengeWrite = /(?:^|as \()insert into "spent_challenges"/;
const accountWrite = /(?:^|as \()(?:insert into|update|delete from) "users"/;
const organizationLock = /^select .* from "organizations" .* for (?:no key )?update/s;
const declarationLock =
  /^(?:select .* from "declarations" .* for (?:no key update|share)|insert into "declarations"|update "declarations")/s;
/** The first lock clause after the table applies to it. */
const accountRead = /from "users".*? for (update|no key update|key share)/s;

/** What a transaction holds when it begins. */
const noLocks = {
  address: false,
  account: 'no' as 'no' | 'shared' | 'exclusive',
  organization: false,
  declaration: false,
  /** It has written rows of an account. */
  owned: false,
  /** It locks the log only if that is free, so it never waits. */
  freeLog: false,
};

/** The violation of the lock order by the next statement of a transaction, if any. Records the locks it takes. */
function complaintAbout(text: string, held: typeof noLocks): string | undefined {
  if (addressLock.test(text)) {
    if (held.account !== 'no') return 'locks an address after the account';
    held.address = true;
  }
  if (challengeWrite.test(text) && held.account !== 'no')
    return 'spends a challenge after locking the account';
  const mode = accountWrite.test(text) ? 'update' : accountRead.exec(text)?.[1];
  if (mode !== undefined && held.account !== 'exclusive') {
    if (mode !== 'key share' && held.account === 'shared') return 'locks the account after its log';
    if (held.organization) return 'locks an account after an organization';
    if (held.declaration) return 'locks an account after a declaration';
    held.account = mode === 'key share' ? 'shared' : 'exclusive';
  }
  if (organizationLock.test(text)) {
    if (held.declaration) return 'locks an organization after a declaration';
    held.organization = true;
  }
  if (declarationLock.test(text)) {
    if (held.owned) return 'locks a declaration after writing what an account owns';
    held.declaration = true;
  }
  if (freeLogLock.test(text)) held.freeLog = true;
  if (owned.test(text)) {
    if (held.account !== 'exclusive') return 'writes what an account owns before locking it';
    held.owned = true;
  }
  if (logWrite.test(text) && held.account === 'no' && !held.freeLog) {
    return 'writes to the log of an account before locking the account';
  }
  if (linkWrite.test(text) && !held.address) return 'changes a link before locking its address';
  return undefined;
}

export function withLockOrder(db: Database) {
  if (db.dialect !== 'postgres') return { db, requireKept: (): void => undefined };
  const complaints = new Set<string>();
  const watched = (tx: Executor): Executor => {
    const held = { ...noLocks };
    const requireOrder = (text: string): void => {
      const complaint = complaintAbout(text, held);
      if (complaint === undefined) return;
      complaints.add(`${complaint}: ${text}`);
      throw new Error(`a transaction ${complaint}: ${text}`);
    };
    return {
      dialect: tx.dialect,
      run: async (text, values) => {
        requireOrder(text);
        return tx.run(text, values);
      },
      write: async (text, values) => {
        requireOrder(text);
        return (tx.write ?? tx.run)(text, values);
      },
    };
  };
  const ordered: Database = { ...db, transaction: (work) => db.transaction((tx) => work(watched(tx))) };
  return {
    db: ordered,
    /** @throws {Error} if a transaction violated the lock order, even if its failure was caught */
    requireKept: (): void => {
      if (complaints.size > 0) throw new Error(`the order of locks: ${[...complaints].join('; ')}`);
    },
  };
}
