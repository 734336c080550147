// Deleting an organization: its members leave, however many there are and whatever else happens, on both databases.

import { expect, test } from 'bun:test';
import { onBothDatabases, type TestApp } from '#support/app.ts';
import { loggedEvents, signedIn } from '#support/security-log.ts';
import { addMember, createOrganization } from '#support/services.ts';
import { fresh } from '#support/shared.ts';
import type { Context } from '../../platform/context.ts';
import { deleteOrganization } from './organizations.ts';

const operator = { by: 'operator' } as const;

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error) => error.code ?? error.message,
  );

let accounts = 0;

/** Accounts without sign-ins, which would take long. */
async function createAccounts(t: TestApp, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => `usr_${String(++accounts).padStart(22, '0')}`);
  for (const id of ids) {
    await t.ctx.db.single.run(
      `INSERT INTO users (id, email, email_key, email_verified, name, webauthn_user_handle, revision, session_epoch,
        created_at, updated_at) VALUES ('${id}', '${id}@example.com', '${id}@example.com', 1, 'x', '${id}', 1, 0, 1, 1)`,
      [],
    );
  }
  return ids;
}

async function createTeam(t: TestApp, slug: string, count: number): Promise<string[]> {
  await createOrganization(t.ctx, slug, 'Team');
  const members = await createAccounts(t, count);
  for (const [index, id] of members.entries())
    await addMember(t.ctx, slug, id, index === 0 ? 'owner' : 'member');
  return members;
}

/** What the log of each of these accounts says last about an organization; undefined if it says nothing. */
async function lastChanges(t: TestApp, ids: readonly string[]): Promise<(string | undefined)[]> {
  const rows = await t.ctx.db.read.run<{ user_id: string; detail: string }>(
    "SELECT user_id, detail FROM events WHERE type = 'membership_changed' ORDER BY seq",
    [],
  );
  const last = new Map(rows.map(({ user_id, detail }) => [user_id, JSON.parse(detail)]));
  return ids.map((id) => last.get(id)?.reason ?? last.get(id)?.role);
}

const count = async (t: TestApp, table: string): Promise<number> =>
  (await t.ctx.db.read.run(`SELECT 1 FROM ${table}`, [])).length;

onBothDatabases('deleting an organization', (open) => {
  const t = fresh(open);

  test('every member loses it at once and reads so in the log; then the slug is free again', async () => {
    const headers = { Authorization: await t.serviceAuthorization('organizations') };
    const tokens = await signedIn(t);
    const { access_token: token, userId: id } = tokens;
    const [other] = await createTeam(t, 'acme', 1);
    await addMember(t.ctx, 'acme', id, 'admin');
    const former = await t.ask('PUT', '/organizations/acme', { headers, json: { name: 'Team' } });
    expect((await t.ask('DELETE', '/organizations/acme', { headers })).status).toBe(204);
    expect((await t.ask('DELETE', '/organizations/acme', { headers })).status).toBe(404);
    expect((await t.ask('GET', '/organizations', { token })).body.organizations).toHaveLength(1);
    const [event] = await loggedEvents(t, tokens, 'membership_changed');
    const by = { by: 'service', service_id: expect.any(String) };
    const deleted = { organization_id: former.body.id, organization: 'acme', name: 'Team' };
    const reason = 'organization_deleted';
    expect(event!.detail).toEqual({ ...deleted, former_role: 'admin', reason, ...by });
    expect(await lastChanges(t, [other!, id])).toEqual([reason, reason]);
    const again = await t.ask('PUT', '/organizations/acme', { headers, json: { name: 'Anew' } });
    expect(again.status).toBe(201);
    expect(again.body.id).not.toBe(former.body.id);
    expect((await t.ask('GET', '/organizations/acme/members', { headers })).body.members).toEqual([]);
  });

  test('a large organization is deleted in batches; an interruption leaves it with its owners', async () => {
    const members = await createTeam(t, 'large', 250);
    let transactions = 0;
    const transaction: Context['db']['transaction'] = (work) =>
      ++transactions === 3 ? Promise.reject(new Error('interrupted')) : t.ctx.db.transaction(work);
    const failing = { ...t.ctx, db: { ...t.ctx.db, transaction } };
    expect(await codeOf(deleteOrganization(failing, 'large', operator))).toBe('interrupted');
    const left = await t.ctx.db.read.run<{ user_id: string; role: string }>(
      'SELECT user_id, role FROM memberships',
      [],
    );
    expect(left).toHaveLength(50);
    expect(left.filter(({ role }) => role === 'owner')).toEqual([{ user_id: members[0]!, role: 'owner' }]);
    // It can be managed, and deleted again.
    expect(await codeOf(addMember(t.ctx, 'large', members[5]!, 'admin'))).toBe('done');
    await deleteOrganization(t.ctx, 'large', operator);
    expect(await count(t, 'memberships')).toBe(0);
    expect(await count(t, 'organizations')).toBe(0);
    expect(new Set(await lastChanges(t, members))).toEqual(new Set(['organization_deleted']));
  });

  test('members may join, change or leave meanwhile: the organization goes, and each log ends with what is true', async () => {
    const other = await open({ beside: t });
    const joining = await createAccounts(t, 20);
    for (let round = 0; round < 5; round++) {
      const slug = `team-${round}`;
      const members = await createTeam(t, slug, 10);
      const [changes, deletions] = await Promise.all([
        Promise.all([
          ...joining.map((id) => codeOf(addMember(other.ctx, slug, id, 'member'))),
          ...members.map((id) => codeOf(addMember(other.ctx, slug, id, 'admin'))),
        ]),
        Promise.all([1, 2].map(() => codeOf(deleteOrganization(t.ctx, slug, operator)))),
      ]);
      expect(deletions).toContain('done');
      for (const code of [...changes, ...deletions])
        expect(['done', 'not_found', 'conflict']).toContain(code);
      expect(await count(t, `organizations WHERE slug = '${slug}'`)).toBe(0);
      expect(new Set(await lastChanges(t, members))).toEqual(new Set(['organization_deleted']));
      const ends = await lastChanges(t, joining);
      // Each change that succeeded is followed by the deletion.
      expect(ends.filter((end) => end !== undefined && end !== 'organization_deleted')).toEqual([]);
      const joined = changes
        .slice(0, joining.length)
        .flatMap((code, n) => (code === 'done' ? [ends[n]] : []));
      expect(joined).not.toContain(undefined);
    }
    expect(await count(t, 'memberships')).toBe(0);
  });
});
