// The security log on real databases: complete, without duplicates, ordered, atomic with its causes, and private.

import { expect, test } from 'bun:test';
import { addPasskey, newAuthenticator, signInByMail } from '#support/account.ts';
import { onBothDatabases, type TestApp, type Tokens } from '#support/app.ts';
import {
  auditAll,
  countEvents,
  expectIntact,
  loggedEvents,
  logMore,
  patchMe,
  signedIn,
} from '#support/security-log.ts';
import { fresh } from '#support/shared.ts';
import { setDisabled } from '../../identity/account/account.ts';
import { recordRateLimitReached } from './events.ts';

const typesOf = async (t: TestApp, tokens: Tokens): Promise<string[]> =>
  (await loggedEvents(t, tokens)).map(({ type }) => type).reverse();
const run = (t: TestApp, text: string) => t.ctx.db.single.run(text, []);

/** Moves to the start of an hour, so that no new hour starts during a test. */
const toFullHour = (t: TestApp) => t.pass(3600 - ((t.ctx.clock() / 1000) % 3600) + 1);
const together = <T>(count: number, work: (n: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, n) => work(n)));

onBothDatabases('the security log', (open) => {
  const t = fresh(open);

  // Which operation records what: tests/invariants/operations.test.ts.
  test('an event has its time, address, user agent and session, but not the value of a profile; what changes nothing is none', async () => {
    const from = { peer: '192.0.2.77', headers: { 'User-Agent': 'test-agent/1' } };
    const before = t.ctx.clock();
    const { body: tokens } = await signInByMail(t, 'ada@example.com', from);
    const { access_token: token } = tokens;
    const [session] = (await t.ask('GET', '/sessions', { token })).body.sessions;
    const json = { name: 'Ada Secretname', locale: 'en' };
    await t.ask('PATCH', '/me', { token, json, ...from });
    await t.ask('POST', '/revoke', { token });
    for (const disabled of [true, true, false]) await setDisabled(t.ctx, 'ada@example.com', disabled);
    const again = await t.login();
    const changes = ['profile_changed', 'all_sessions_revoked', 'account_disabled', 'account_enabled'];
    expect(await typesOf(t, again)).toEqual(['account_created', 'login', ...changes, 'login']);
    const events = await loggedEvents(t, again);
    expect(events.at(-3)).toEqual({
      id: expect.stringMatching(/^evt_[\w-]{22}$/),
      type: 'profile_changed',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/),
      session_id: session.id,
      ip_address: '192.0.2.77',
      user_agent: 'test-agent/1',
      detail: { fields: 'name locale' },
    });
    expect(Date.parse(events.at(-1)!.created_at)).toBeGreaterThanOrEqual(before);
    expect(events.at(-1)).toMatchObject({ ip_address: '192.0.2.77', session_id: null });
    expect(JSON.stringify(events)).not.toContain('Secretname');
    expect(await auditAll(t)).toEqual({ problems: [], events: 7 });
  });

  test('refresh races and retries are recorded once an hour each, and a theft once; a repetition writes nothing', async () => {
    toFullHour(t);
    const { refresh_token } = await t.login();
    const refresh = (refresh_token: string, key?: string) =>
      t.ask('POST', '/refresh', {
        json: { refresh_token },
        headers: key ? { 'Idempotency-Key': key } : {},
      });
    const { body: next } = await refresh(refresh_token, 'k');
    const repeated = await together(32, (n) => refresh(refresh_token, n % 2 ? 'k' : undefined));
    const successors = new Set(repeated.map(({ body }) => body.refresh_token));
    expect(successors).toEqual(new Set([undefined, next.refresh_token]));
    const statements = t.statements.length;
    for (const key of ['k', undefined]) await refresh(refresh_token, key);
    expect(
      t.statements.slice(statements).filter((text) => /insert|event_chains|for (no key )?update/i.test(text)),
    ).toEqual([]);
    expect([await countEvents(t, 'refresh_race'), await countEvents(t, 'refresh_retry')]).toEqual([1, 1]);
    t.pass(3600);
    for (let n = 0; n < 3; n++) await refresh(next.refresh_token, 'k');
    expect(await countEvents(t, 'refresh_retry')).toBe(2);
    t.pass(11);
    await together(32, () => refresh(next.refresh_token));
    const thefts = await loggedEvents(t, await t.login(), 'refresh_theft');
    expect(thefts).toMatchObject([{ ip_address: '192.0.2.1' }]);
    await expectIntact(t);
  });

  test('reaching a rate limit is recorded once an hour for each limit', async () => {
    toFullHour(t);
    const ada = await signedIn(t);
    const client = { ipAddress: '192.0.2.9', userAgent: null };
    const reach = (limit: string, userId = ada.userId) =>
      recordRateLimitReached(t.ctx, { userId, client }, limit);
    await together(20, (n) => reach(n % 2 ? 'magic_links' : 'user_codes'));
    const recorded = await loggedEvents(t, ada, 'limit_reached');
    expect(recorded.map(({ detail }) => detail.limit).sort()).toEqual(['magic_links', 'user_codes']);
    t.pass(3600);
    await reach('magic_links');
    expect(await countEvents(t, 'limit_reached')).toBe(3);
    await reach('magic_links', 'usr_gone');
    await expectIntact(t);
  });

  // Changes to events and to the ends of a log: chain.test.ts.
  test('an audit of a log finds that the record of its ends is deleted, whatever follows', async () => {
    const { userId } = await signedIn(t);
    await logMore(t, userId, 3);
    await expectIntact(t);
    await run(t, 'DELETE FROM event_chains');
    expect((await auditAll(t)).problems[0]).toStartWith('no chain: ');
    await logMore(t, userId, 3);
    expect((await auditAll(t)).problems[0]).toBe('changed: event 6');
  });

  test('events older than the retention setting are deleted, the rest stays intact, also to an audit meanwhile, and later removals are detected', async () => {
    const settings = { LATCHKEY_EVENT_RETENTION: '86400' };
    const t = await open({ settings });
    const other = await open({ beside: t, settings });
    const { userId } = await signedIn(t);
    await t.login('idle@example.com');
    await logMore(t, userId, 600);
    t.pass(86_400 - 60);
    await t.sweep();
    expect((await auditAll(t)).events).toBe(604);
    const tokens = await t.login();
    await logMore(t, userId, 3);
    t.pass(61);
    const audits = together(10, () => auditAll(other));
    await Promise.all([
      ...[t.sweep(), other.sweep()],
      together(20, (n) => patchMe(t, tokens, { name: `B${n}` })),
      together(5, () => t.deviceLogin(tokens)),
    ]);
    for (const { problems } of await audits) expect(problems).toEqual([]);
    await t.sweep();
    const kept = (await typesOf(t, tokens)).length;
    expect(await auditAll(t)).toEqual({ problems: [], events: kept });
    expect((await typesOf(t, tokens)).slice(0, 4)).toEqual(Array(4).fill('login'));
    await t.login('idle@example.com');
    expect(await auditAll(t)).toMatchObject({ problems: [], events: kept + 1 });
    await run(t, `DELETE FROM events WHERE user_id = '${userId}' AND seq = 603`);
    expect((await auditAll(t)).problems).toEqual(['removed: event 603']);
  });

  test('a sweep does not delete events whose age was forged, and logs a warning', async () => {
    const t = await open({ settings: { LATCHKEY_EVENT_RETENTION: '86400' } });
    const tokens = await t.login();
    await patchMe(t, tokens, { name: 'B' });
    await run(t, 'UPDATE events SET created_at = 1');
    await run(t, 'UPDATE event_chains SET oldest_at = 1');
    await t.sweep();
    expect(await countEvents(t, 'profile_changed')).toBe(1);
    expect(t.logs.join('')).toContain('a security log is damaged');
    expect((await auditAll(t)).problems).toHaveLength(3);
  });
});

// In a log that stays intact. Parallel changes: tests/invariants/locks.test.ts.
onBothDatabases('changes within a minute', (open) => {
  const t = fresh(open);

  test('changes of one type by one session within a minute share one event that lists all of them', async () => {
    const tokens = await t.login();
    const other = await t.login();
    const patch = (json: object, by: Tokens = tokens) => patchMe(t, by, json);
    const recorded = async () =>
      (await loggedEvents(t, tokens, 'profile_changed')).toReversed().map(({ detail }) => detail.fields);
    for (let n = 0; n < 5; n++) await patch({ name: `Ada ${n}` });
    const [first] = await loggedEvents(t, tokens);
    await patch({ locale: 'en' });
    expect((await loggedEvents(t, tokens))[0]).toEqual({ ...first!, detail: { fields: 'name locale' } });
    // Another type, another session and other events come between.
    await t.deviceLogin(tokens);
    await patch({ name: 'Beside' }, other);
    await patch({ time_zone: 'Europe/Zurich', name: 'Ada' });
    expect(await recorded()).toEqual(['name locale time_zone', 'name']);
    await expectIntact(t);
    t.pass(45);
    await patch({ avatar_url: 'https://example.com/a.png' });
    expect(await recorded()).toEqual(['name locale time_zone avatar_url', 'name']);
    t.pass(15);
    await patch({ name: 'Ada again' });
    expect(await recorded()).toEqual(['name locale time_zone avatar_url', 'name', 'name']);
    expect(await auditAll(t)).toMatchObject({ problems: [], events: 8 });
  });

  test('renaming a passkey repeatedly within a minute is one event with the last name; renaming several is one event with their ids', async () => {
    const tokens = await t.login();
    const token = tokens.access_token;
    const ids: string[] = [];
    for (let n = 0; n < 2; n++) ids.push((await addPasskey(t, tokens, newAuthenticator(t))).body.id);
    const rename = (id: string | undefined, name: string) =>
      t.ask('PATCH', `/passkeys/${id}`, { token, json: { name } });
    const recorded = async () =>
      (await loggedEvents(t, tokens, 'passkey_renamed')).map(({ detail }) => detail);
    for (let n = 0; n < 5; n++) expect((await rename(ids[0], `key ${n}`)).status).toBe(200);
    expect(await recorded()).toEqual([{ passkey_id: ids[0]!, name: 'key 4' }]);
    await rename(ids[1], 'other');
    await rename(ids[0], 'last');
    expect(await recorded()).toEqual([{ passkey_ids: ids.join(' ') }]);
    t.pass(60);
    await rename(ids[1], 'later');
    expect((await recorded())[0]).toEqual({ passkey_id: ids[1]!, name: 'later' });
    await expectIntact(t);
  });

  test('a change gets its own event if more than 100 follow the first one, or if they were tampered with, so the damage stays detectable', async () => {
    const ada = await signedIn(t);
    const changedAfter = async (json: object) => {
      expect((await patchMe(t, ada, json)).status).toBe(200);
      return countEvents(t, 'profile_changed');
    };
    expect(await changedAfter({ name: 'B' })).toBe(1);
    await logMore(t, ada.userId, 100);
    expect(await changedAfter({ locale: 'en' })).toBe(1);
    await logMore(t, ada.userId, 1);
    expect(await changedAfter({ time_zone: 'Europe/Zurich' })).toBe(2);
    await logMore(t, ada.userId, 1);
    await expectIntact(t);
    await t.ctx.db.single.run("UPDATE events SET ip_address = '198.51.100.1' WHERE seq = 106", []);
    expect(await changedAfter({ locale: 'de' })).toBe(3);
    // The new event is intact and takes the changes that follow.
    expect(await changedAfter({ time_zone: 'Europe/Rome' })).toBe(3);
    expect((await auditAll(t)).problems).toEqual(['changed: event 106']);
  });
});
