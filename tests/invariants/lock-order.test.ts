// The lock-order check of the tests detects violations.

import { expect, test } from 'bun:test';
import { openApp } from '#support/app.ts';
import { withLockOrder } from '#support/lock-order.ts';
import { shared } from '#support/shared.ts';

const app = shared(() => openApp('postgres'));

/** The database of the app, watched, and what runs statements in one transaction of it. */
function watched() {
  const { db, requireKept } = withLockOrder(app.ctx.db);
  const run = (...texts: string[]) =>
    db.transaction(async (tx) => {
      for (const text of texts) await tx.run(text, []);
    });
  return { run, requireKept };
}

const account = 'select "id" from "users" where "id" = \'-\' for update';
const log =
  'select * from "event_chains" where "user_id" = (select "id" from "users" where "id" = \'-\' for key share) for no key update';
const event = 'delete from "events" where "id" = \'-\'';
const organization = 'select "id" from "organizations" where "slug" = \'-\' for no key update';
const sessions = 'update "sessions" set "revoked_at" = 1 where "user_id" = \'-\'';
const declaration = 'select "name" from "declarations" where "name" = \'-\' for share';
const challenge = 'insert into "spent_challenges" ("id", "expires_at") values (\'-\', 1)';
const address = "select cast(lock_address('-') as text)";
const link = 'update "magic_links" set "spent_at" = 1 where "id" = \'-\'';

test('a transaction that violates the lock order fails, even without contention', async () => {
  const { run, requireKept } = watched();
  for (const [texts, complaint] of [
    [[sessions, account], 'writes what an account owns before locking it'],
    [[log, sessions], 'writes what an account owns before locking it'],
    [[log, account], 'locks the account after its log'],
    [[account, address], 'locks an address after the account'],
    [[account, challenge], 'spends a challenge after locking the account'],
    [[organization, account], 'locks an account after an organization'],
    [[declaration, account], 'locks an account after a declaration'],
    [[declaration, organization], 'locks an organization after a declaration'],
    [[account, sessions, declaration], 'locks a declaration after writing what an account owns'],
    [[link], 'changes a link before locking its address'],
    [[event], 'writes to the log of an account before locking the account'],
    [[`with "part_0" as (${sessions}) ${challenge}`], 'writes what an account owns before locking it'],
  ] as const)
    await expect(run(...texts)).rejects.toThrow(complaint);
  // And again at the end, because failures in the background fail no test.
  expect(requireKept).toThrow('locks an address after the account');
});

test('a transaction may take all locks in order', async () => {
  const { run, requireKept } = watched();
  await run(address, challenge, account, organization, declaration, sessions, log, event);
  requireKept();
});
