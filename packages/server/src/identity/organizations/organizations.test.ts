// Organizations and their members as services manage them and as users see them, on both databases.

import { expect, test } from 'bun:test';
import { type Organization, organizationSlug } from '@latchkey/contract/organizations';
import type { ServiceRight } from '@latchkey/contract/scopes';
import { outcome } from '#support/account.ts';
import { type Answer, type Ask, onBothDatabases, type TestApp } from '#support/app.ts';
import { loggedEvents, signedIn } from '#support/security-log.ts';
import { addMember, createOrganization } from '#support/services.ts';
import { fresh } from '#support/shared.ts';
import { deleteAccount } from '../../whole-account/personal-data.ts';
import { setDisabled } from '../account/account.ts';

type AskAs = (method: string, path: string, ask?: Ask) => Promise<Answer>;

/** Sends requests with a new service key that has these rights. */
async function asService(t: TestApp, ...rights: ServiceRight[]): Promise<AskAs> {
  const Authorization = await t.serviceAuthorization(...rights);
  return (method, path, ask) => t.ask(method, path, { ...ask, headers: { ...ask?.headers, Authorization } });
}

const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

onBothDatabases('organizations for services', (open) => {
  const t = fresh(open);

  test('PUT creates an organization, once of many at once, renames it, and changes nothing when repeated', async () => {
    const ask = await asService(t, 'organizations');
    const put = (name: unknown, slug = 'acme') => ask('PUT', `/organizations/${slug}`, { json: { name } });
    const made = await put('Acme');
    expect([made.status, made.body.slug, made.body.name]).toEqual([201, 'acme', 'Acme']);
    t.pass(60);
    for (const name of ['Acme', 'Acme Inc.', 'Acme Inc.']) {
      const answer = await put(name);
      expect([answer.status, answer.body]).toEqual([200, { ...made.body, name }]);
    }
    for (let round = 0; round < 5; round++) {
      const answers = await Promise.all([1, 2, 3, 4, 5, 6].map((n) => put(`Acme ${n}`, `acme-${round}`)));
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 201]);
      expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    }
  });

  test('with If-None-Match: * PUT only creates, with If-Match: * it only renames', async () => {
    const ask = await asService(t, 'organizations');
    const put = async (slug: string, headers: Record<string, string>) =>
      outcome(await ask('PUT', `/organizations/${slug}`, { json: { name: 'A' }, headers }));
    const failed = '412 precondition_failed';
    expect(await put('acme', { 'If-Match': '*' })).toBe(failed);
    expect(await put('acme', { 'If-Match': '*', 'If-None-Match': '*' })).toBe(failed);
    expect(await put('acme', { 'If-None-Match': '*' })).toBe('201');
    expect(await put('acme', { 'If-None-Match': '*' })).toBe(failed);
    expect(await put('acme', { 'If-Match': '*', 'If-None-Match': '*' })).toBe(failed);
    expect(await put('acme', { 'If-Match': ' * ' })).toBe('200');
    // Organizations have no entity tags, so none ever matches.
    expect(await put('acme', { 'If-Match': '"a"' })).toBe(failed);
    expect(await put('none', { 'If-Match': '"a"' })).toBe(failed);
    expect(await put('acme', { 'If-None-Match': '"a"' })).toBe('200');
    expect(await put('other', { 'If-None-Match': '"a", "b"' })).toBe('201');
    // What would fail anyway fails as such. @see RFC 9110 section 13.2.1
    expect(await put('Acme', { 'If-Match': '*' })).toBe('400 invalid_request');
  });

  test('a personal organization can be read, but not renamed, deleted or joined', async () => {
    const ask = await asService(t, 'organizations');
    const { userId: ada, access_token: accessToken } = await signedIn(t);
    const { userId: bob } = await signedIn(t, 'bob@example.com');
    const [{ slug }] = (await t.api.call('listOrganizations', { accessToken })).organizations as [
      Organization,
    ];
    const path = `/organizations/${slug}`;
    const members = [{ user_id: ada, name: 'ada', role: 'owner', joined_at: time }];
    const list = async () => (await ask('GET', `${path}/members`)).body;
    expect(await list()).toEqual({ members, next_cursor: null });
    const json = { role: 'member' };
    const refused = [await ask('DELETE', path)];
    for (const headers of [{}, { 'If-Match': '*' }, { 'If-None-Match': '*' }] as Record<string, string>[])
      refused.push(await ask('PUT', path, { json: { name: 'Mine' }, headers }));
    for (const userId of [ada, bob])
      for (const method of ['PUT', 'DELETE'])
        refused.push(await ask(method, `${path}/members/${userId}`, method === 'PUT' ? { json } : {}));
    expect(new Set(refused.map(outcome))).toEqual(new Set(['409 conflict']));
    expect(await list()).toEqual({ members, next_cursor: null });
  });

  test('each change of a membership is one event in the log of the member, and a repetition is none; a disabled user can be a member', async () => {
    const ask = await asService(t, 'organizations');
    const { userId: ada, ...tokens } = await signedIn(t);
    const { body: organization } = await ask('PUT', '/organizations/acme', { json: { name: 'Acme' } });
    const path = `/organizations/acme/members/${ada}`;
    expect(outcome(await ask('GET', path))).toBe('404 not_found');
    expect(outcome(await ask('DELETE', path))).toBe('404 not_found');
    let joined_at = time;
    for (const role of ['member', 'member', 'admin', 'owner', 'owner']) {
      const { status, body } = await ask('PUT', path, { json: { role } });
      expect([status, body]).toEqual([200, { user_id: ada, name: 'ada', role, joined_at }]);
      expect((await ask('GET', path)).body).toEqual(body);
      joined_at = body.joined_at;
      t.pass(60);
    }
    expect((await ask('PUT', path, { json: { role: 'king' } })).body.error_description).toStartWith('role: ');
    const { userId: bob } = await signedIn(t, 'bob@example.com');
    await setDisabled(t.ctx, 'bob@example.com', true);
    await addMember(t.ctx, 'acme', bob, 'owner');
    expect((await ask('DELETE', path)).status).toBe(204);
    expect(outcome(await ask('DELETE', path))).toBe('404 not_found');
    const about = {
      organization_id: organization.id,
      organization: 'acme',
      name: 'Acme',
      by: 'service',
      service_id: expect.stringMatching(/^svc_/),
    };
    const events = await loggedEvents(t, tokens, 'membership_changed');
    expect(events.map(({ detail }) => detail)).toEqual([
      { ...about, former_role: 'owner' },
      { ...about, former_role: 'admin', role: 'owner' },
      { ...about, former_role: 'member', role: 'admin' },
      { ...about, role: 'member' },
    ]);
    // The place would be that of the service.
    for (const event of events)
      expect(event).toMatchObject({ session_id: null, ip_address: null, user_agent: null });
  });

  test('an organization begins without an owner; once it has one, the last owner stays, and is not deleted, not even by the operator', async () => {
    const ask = await asService(t, 'organizations');
    const { userId: ada, ...tokens } = await signedIn(t);
    const { userId: bob } = await signedIn(t, 'bob@example.com');
    const events = async () => (await loggedEvents(t, tokens, 'membership_changed')).length;
    await createOrganization(t.ctx, 'acme', 'Acme');
    const path = (userId: string) => `/organizations/acme/members/${userId}`;
    const put = async (userId: string, role: string) =>
      outcome(await ask('PUT', path(userId), { json: { role } }));
    const remove = async (userId: string) => outcome(await ask('DELETE', path(userId)));
    for (const role of ['member', 'admin', 'member']) expect(await put(ada, role)).toBe('200');
    expect(await remove(ada)).toBe('204');
    expect(await put(ada, 'owner')).toBe('200');
    expect(await put(bob, 'admin')).toBe('200');
    const before = await events();
    for (const role of ['admin', 'member']) expect(await put(ada, role)).toBe('409 conflict');
    expect(await remove(ada)).toBe('409 conflict');
    expect(await put(ada, 'owner')).toBe('200');
    expect(await events()).toBe(before);
    const { access_token: token } = tokens;
    const refused = await t.ask('DELETE', '/me', { token });
    expect([outcome(refused), refused.body.error_description]).toEqual([
      '409 conflict',
      expect.stringContaining('acme'),
    ]);
    await expect(deleteAccount(t.ctx, 'ada@example.com')).rejects.toMatchObject({ code: 'conflict' });
    expect(await put(bob, 'owner')).toBe('200');
    expect(await put(ada, 'member')).toBe('200');
    expect(await remove(bob)).toBe('409 conflict');
    expect((await t.ask('DELETE', '/me', { token })).status).toBe(204);
  });

  test('of two owners who are demoted, removed or deleted at the same moment, one stays', async () => {
    const other = await open({ beside: t });
    const headers = { Authorization: await t.serviceAuthorization('organizations') };
    type Owner = Awaited<ReturnType<typeof signedIn>>;
    type Leave = (node: TestApp, slug: string, owner: Owner) => Promise<Answer>;
    const demote: Leave = (node, slug, { userId }) =>
      node.ask('PUT', `/organizations/${slug}/members/${userId}`, { headers, json: { role: 'member' } });
    const remove: Leave = (node, slug, { userId }) =>
      node.ask('DELETE', `/organizations/${slug}/members/${userId}`, { headers });
    const erase: Leave = (node, _, { access_token: token }) => node.ask('DELETE', '/me', { token });
    const pairs = [
      [demote, demote],
      [remove, remove],
      [demote, remove],
      [demote, erase],
      [remove, erase],
      [erase, erase],
    ] as const;
    for (const [n, [one, another]] of Array(4).fill(pairs).flat().entries()) {
      const slug = `team-${n}`;
      await createOrganization(t.ctx, slug, 'Team');
      const owners: Owner[] = [];
      for (const email of [`ada-${n}@example.com`, `bob-${n}@example.com`]) {
        const owner = await signedIn(t, email);
        await addMember(t.ctx, slug, owner.userId, 'owner');
        owners.push(owner);
      }
      const answers = await Promise.all([one(t, slug, owners[0]!), another(other, slug, owners[1]!)]);
      const [first, second] = answers.map(({ status }) => status).toSorted();
      expect([first! < 300, second]).toEqual([true, 409]);
      const { body } = await t.ask('GET', `/organizations/${slug}/members`, { headers });
      expect(body.members.filter(({ role }: { role: string }) => role === 'owner')).toHaveLength(1);
    }
  });
});

// How a slug that is none is answered: platform/http/bodies.test.ts.
test('a slug has up to 39 lower-case letters and digits, with single hyphens between them', () => {
  for (const slug of ['a', '0', 'a-b', 'a'.repeat(39), Array(20).fill('a').join('-')])
    expect([slug, organizationSlug.test(slug)]).toEqual([slug, true]);
  for (const slug of ['', 'A', '-a', 'a-', 'a--b', 'a_b', 'a.b', 'ä', '\0', 'a/b', 'a\n', 'a'.repeat(40)])
    expect([slug, organizationSlug.test(slug)]).toEqual([slug, false]);
});
