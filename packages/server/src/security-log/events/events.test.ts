// The security log on real databases: complete, without duplicates, ordered, atomic with its causes, and private.

import { expect, test } from 'bun:test';
import { onBothDatabases, type TestApp, type Tokens } from '#support/app.ts';
import {
  auditAll,
  countEvents,
  expectIntact,
  type LoggedEvent,
  loggedEvents,
} from '#support/security-log.ts';
import { fresh } from '#support/shared.ts';
import { setDisabled } from '../../identity/account/account.ts';
import { maxUserAgentLength } from '../../platform/values/client-address.ts';
import { auditLogs } from './auditing.ts';
import { recordEvent, recordRateLimitReached } from './events.ts';

const list = async (
  t: TestApp,
  tokens: Tokens,
  query = '',
): Promise<{ events: LoggedEvent[]; next_cursor: string | null }> => {
  const { status, body } = await t.ask('GET', `/events${query}`, { token: tokens.access_token });
  expect(status).toBe(200);
  return body;
};
const typesOf = async (t: TestApp, tokens: Tokens): Promise<string[]> =>
  (await loggedEvents(t, tokens)).map(({ type }) => type).reverse();
const run = (t: TestApp, text: string) => t.ctx.db.single.run(text, []);

/** Moves to the start of an hour, so that no new hour starts during a test. */
const toFullHour = (t: TestApp) => t.pass(3600 - ((t.ctx.clock() / 1000) % 3600) + 1);
const together = <T>(count: number, work: (n: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, n) => work(n)));

onBothDatabases('the security log', (open) => {
  const t = fresh(open);

  test('records every security-relevant action once, with time, address, user agent and session', async () => {
    const from = { peer: '192.0.2.77', headers: { 'User-Agent': 'test-agent/1' } };
    await t.ask('POST', '/magic_link', { json: { email: 'ada@example.com' } });
    const [mail] = await t.mails();
    const before = t.ctx.clock();
    const { body: tokens } = await t.ask('POST', '/magic_link/verify', {
      json: { token: mail!.token },
      ...from,
    });
    const token = tokens.access_token;
    await t.ask('PATCH', '/me', { token, json: { name: 'Ada Secretname', locale: 'en' }, ...from });
    const { body: denied } = await t.ask('POST', '/device', { json: { client_name: 'cli' } });
    await t.ask('POST', '/device/deny', { token, json: { user_code: denied.user_code } });
    const device = await t.deviceLogin(tokens);
    await t.ask('DELETE', '/logout?scope=session', { token: device.access_token });
    const other = await t.deviceLogin(tokens);
    const { body: sessions } = await t.ask('GET', '/sessions', { token });
    const current = sessions.sessions.find((one: { current: boolean }) => one.current).id;
    const otherId = sessions.sessions.find((one: { kind: string }) => one.kind === 'device').id;
    await t.ask('DELETE', `/sessions/${otherId}`, { token });
    expect((await t.ask('GET', '/me', { token: other.access_token })).status).toBe(401);
    const third = await t.deviceLogin(tokens);
    await t.ask('POST', '/revoke', { form: { token: third.refresh_token } });
    await t.ask('POST', '/revoke', { token });
    await setDisabled(t.ctx, 'ada@example.com', true);
    await setDisabled(t.ctx, 'ada@example.com', true);
    await setDisabled(t.ctx, 'ada@example.com', false);
    const again = await t.login();

    const { events, next_cursor } = await list(t, again);
    expect(next_cursor).toBeNull();
    const recorded = events.toReversed().map(({ type, detail }) => [type, detail]);
    const approved = ['device_approved', { ip_address: '192.0.2.1' }];
    const byDevice = ['login', { method: 'device_code', kind: 'device' }];
    expect(recorded).toEqual([
      ['account_created', {}],
      ['login', { method: 'magic_link', kind: 'browser' }],
      ['profile_changed', { fields: 'name locale' }],
      ['device_denied', { client_name: 'cli', ip_address: '192.0.2.1' }],
      approved,
      byDevice,
      ['session_revoked', { reason: 'logout' }],
      approved,
      byDevice,
      ['session_revoked', { reason: 'other_session', by: current }],
      approved,
      byDevice,
      ['session_revoked', { reason: 'token' }],
      ['all_sessions_revoked', {}],
      ['account_disabled', { by: 'operator' }],
      ['account_enabled', { by: 'operator' }],
      ['login', { method: 'magic_link', kind: 'browser' }],
    ]);
    expect(events.at(-3)).toEqual({
      id: expect.stringMatching(/^evt_[\w-]{22}$/),
      type: 'profile_changed',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/),
      session_id: current,
      ip_address: '192.0.2.77',
      user_agent: 'test-agent/1',
      detail: { fields: 'name locale' },
    });
    expect(Date.parse(events.at(-1)!.created_at)).toBeGreaterThanOrEqual(before);
    expect(events.at(-1)).toMatchObject({ ip_address: '192.0.2.77', session_id: null });
    expect(JSON.stringify(events)).not.toContain('Secretname');
    expect(await auditAll(t)).toEqual({ problems: [], events: 17 });
  });

  test('a storm of refreshes records each of race and retry once an hour, and a theft once', async () => {
    toFullHour(t);
    const tokens = await t.login();
    const refresh = (key?: string) =>
      t.ask('POST', '/refresh', {
        json: { refresh_token: tokens.refresh_token },
        headers: key ? { 'Idempotency-Key': key } : {},
      });
    const answers = await together(32, (n) => refresh(n % 2 ? 'k' : undefined));
    expect(answers.some(({ status }) => status === 200)).toBe(true);
    const first = (await refresh('k')).status;
    expect([200, 400]).toContain(first);
    await together(32, () => refresh());
    expect(await countEvents(t, 'refresh_race')).toBe(1);
    expect(await countEvents(t, 'refresh_retry')).toBeLessThanOrEqual(1);
    await expectIntact(t);
    t.pass(11);
    await together(32, () => refresh());
    expect(await countEvents(t, 'refresh_theft')).toBe(1);
    const again = await t.login();
    const [theft] = await loggedEvents(t, again, 'refresh_theft');
    expect(theft).toMatchObject({ ip_address: '192.0.2.1' });
    await expectIntact(t);
  });

  test('refresh retries are recorded once an hour, and again in the next hour', async () => {
    toFullHour(t);
    const tokens = await t.login();
    const headers = { 'Idempotency-Key': 'k' };
    const refresh = (refresh_token: string) =>
      t.ask('POST', '/refresh', { json: { refresh_token }, headers });
    const { body: next } = await refresh(tokens.refresh_token);
    const repeated = await together(16, () => refresh(tokens.refresh_token));
    expect(new Set(repeated.map(({ body }) => body.refresh_token))).toEqual(new Set([next.refresh_token]));
    expect(await countEvents(t, 'refresh_retry')).toBe(1);
    const statements = t.statements.length;
    await refresh(tokens.refresh_token);
    expect(t.statements.slice(statements).filter((text) => /insert|events_chains/i.test(text))).toEqual([]);
    t.pass(3600);
    await refresh(next.refresh_token);
    await refresh(next.refresh_token);
    expect(await countEvents(t, 'refresh_retry')).toBe(2);
    await expectIntact(t);
  });

  test('reaching a rate limit is recorded once an hour for each limit', async () => {
    toFullHour(t);
    const tokens = await t.login();
    const { body: me } = await t.ask('GET', '/me', { token: tokens.access_token });
    const client = { ipAddress: '192.0.2.9', userAgent: null };
    const reach = (limit: string) => recordRateLimitReached(t.ctx, { userId: me.id, client }, limit);
    await together(20, (n) => reach(n % 2 ? 'magic_links' : 'user_codes'));
    const recorded = await loggedEvents(t, tokens, 'limit_reached');
    expect(recorded.map(({ detail }) => detail.limit).sort()).toEqual(['magic_links', 'user_codes']);
    t.pass(3600);
    await reach('magic_links');
    expect(await countEvents(t, 'limit_reached')).toBe(3);
    await recordRateLimitReached(t.ctx, { userId: 'usr_gone', client }, 'magic_links');
    await expectIntact(t);
  });

  test('an event is rolled back with its cause', async () => {
    const tokens = await t.login();
    const before = await list(t, tokens);
    const { body: me } = await t.ask('GET', '/me', { token: tokens.access_token });
    const failing = t.ctx.db.transaction(async (tx) => {
      await recordEvent(t.ctx, tx, { type: 'email_changed', userId: me.id });
      await recordEvent(t.ctx, tx, { type: 'email_change_undone', userId: me.id });
      throw new Error('on purpose');
    });
    expect(failing).rejects.toThrow('on purpose');
    await failing.catch(() => undefined);
    expect(await list(t, tokens)).toEqual(before);
    await t.ctx.db.transaction((tx) => recordEvent(t.ctx, tx, { type: 'email_changed', userId: me.id }));
    expect(await typesOf(t, tokens)).toEqual(['account_created', 'login', 'email_changed']);
    await expectIntact(t);
  });

  test('pages of events stay stable while events are added, and never show the events of another user', async () => {
    const [ada, eve] = [await t.login(), await t.login('eve@example.com')];
    const change = async (name: string) => {
      t.pass(61);
      await t.ask('PATCH', '/me', { token: ada.access_token, json: { name } });
    };
    for (let n = 0; n < 9; n++) await change(`A${n}`);
    const all = (await list(t, ada)).events;
    expect(all).toHaveLength(11);
    const seen: LoggedEvent[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await list(t, ada, `?limit=2${cursor && `&cursor=${cursor}`}`);
      expect(page.events.length).toBeLessThanOrEqual(2);
      seen.push(...page.events);
      cursor = page.next_cursor;
      await change(`B${seen.length}`);
    }
    expect(seen).toEqual(all);
    expect(await typesOf(t, eve)).toEqual(['account_created', 'login']);
    const first = (await list(t, ada, '?limit=1')).next_cursor;
    const theirs = await list(t, eve, `?cursor=${first}`);
    expect(JSON.stringify(theirs)).not.toContain('profile_changed');
    for (const other of ['sessions', 'organizations', 'keys']) {
      const answer = await t.ask('GET', `/${other}?cursor=${first}`, { token: ada.access_token });
      expect([other, answer.status, answer.body.error]).toEqual([other, 400, 'invalid_request']);
    }
  });

  test('a hostile user agent is sanitized and truncated', async () => {
    const tokens = await t.login();
    const change = async (agent: string): Promise<LoggedEvent> => {
      t.pass(61);
      const name = crypto.randomUUID();
      const headers = { 'User-Agent': agent };
      expect(
        (await t.ask('PATCH', '/me', { token: tokens.access_token, json: { name }, headers })).status,
      ).toBe(200);
      return (await list(t, tokens)).events[0]!;
    };
    expect((await change('a\u0001b\u001b[31mc\u007f\u009b2J')).user_agent).toBe('ab[31mc2J');
    expect((await change('x'.repeat(5000))).user_agent).toBe('x'.repeat(maxUserAgentLength));
    expect((await change(`'"><script>alert(1)</script>`)).user_agent).toBe(`'"><script>alert(1)</script>`);
    expect((await change('\u0080\u0081')).user_agent).toBeNull();
    await expectIntact(t);
  });

  // Any other change to events is one of chain.test.ts.
  const damages: [string, string, RegExp][] = [
    ['changes an event', `UPDATE events SET ip_address = '203.0.113.9' WHERE seq = 3`, /^changed: event 3$/],
    ['removes all events', 'DELETE FROM events', /^removed: events 1-5$/],
    ['deletes the record of the ends', 'DELETE FROM event_chains', /^no chain: /],
    [
      'moves the head back',
      `UPDATE event_chains SET head_seq = 4, head_mac = (SELECT mac FROM events WHERE seq = 4)`,
      /^end changed: |^added: event 5$/,
    ],
    ['removes the seal', "UPDATE event_chains SET seal = ''", /^end changed: /],
  ];
  test.each(damages)('an audit finds that someone %s', async (_, damage, finding) => {
    const tokens = await t.login();
    for (let n = 0; n < 3; n++) {
      t.pass(61);
      await t.ask('PATCH', '/me', { token: tokens.access_token, json: { name: `A${n}` } });
    }
    await expectIntact(t);
    await run(t, damage);
    const { problems } = await auditAll(t);
    expect(problems.length).toBeGreaterThan(0);
    for (const problem of problems) expect(problem).toMatch(finding);
    // Later events do not hide the damage.
    await t.ask('PATCH', '/me', { token: tokens.access_token, json: { name: 'B' } });
    expect((await auditAll(t)).problems.length).toBeGreaterThan(0);
  });

  test('a log truncated to an earlier end stays detected, however many events follow', async () => {
    const tokens = await t.login();
    const change = (name: string) => {
      t.pass(61);
      return t.ask('PATCH', '/me', { token: tokens.access_token, json: { name } });
    };
    for (const name of ['A', 'B', 'C']) await change(name);
    const [early] = await t.ctx.db.read.run<{ seal: string }>('SELECT seal FROM event_chains', []);
    const cut = async (seal: string) => {
      const [head] = await t.ctx.db.read.run<{ seq: number }>('SELECT max(seq) AS seq FROM events', []);
      const last = Number(head!.seq) - 1;
      await run(t, `DELETE FROM events WHERE seq > ${last}`);
      await run(
        t,
        `UPDATE event_chains SET head_seq = ${last}, head_mac = (SELECT mac FROM events WHERE seq = ${last}), seal = '${seal}'`,
      );
    };
    await cut(`AAAAAAA.${early!.seal.split('.')[1]}`);
    expect((await change('D')).status).toBe(200);
    let unchecked = 0;
    for await (const one of auditLogs(t.ctx, undefined)) unchecked += one.audit.retired;
    expect(unchecked).toBe(1);
    await cut(early!.seal);
    for (const name of ['E', 'F', 'G']) expect((await change(name)).status).toBe(200);
    expect((await auditAll(t)).problems).toEqual([
      expect.stringMatching(/^end changed: before event \d+$/),
      'end changed: the number of its events',
    ]);
  });

  test('an audit during writes and sweeps reports no defect', async () => {
    const t = await open({ settings: { LATCHKEY_EVENT_RETENTION: '86400' } });
    const other = await open({ beside: t });
    const tokens = await t.login();
    for (let n = 0; n < 20; n++) {
      t.pass(61);
      await t.ask('PATCH', '/me', { token: tokens.access_token, json: { name: `A${n}` } });
    }
    t.pass(86_401);
    const again = await t.login();
    const audits = together(10, () => auditAll(other));
    await Promise.all([
      t.sweep(),
      together(20, (n) => t.ask('PATCH', '/me', { token: again.access_token, json: { name: `B${n}` } })),
      together(5, () => t.deviceLogin(again)),
    ]);
    for (const { problems } of await audits) expect(problems).toEqual([]);
    await expectIntact(t);
  });

  test('events older than the retention setting are deleted, the rest stays intact, and later removals are detected', async () => {
    const t = await open({ settings: { LATCHKEY_EVENT_RETENTION: '86400' } });
    const other = await open({ beside: t, settings: { LATCHKEY_EVENT_RETENTION: '86400' } });
    const old = await t.login();
    await t.login('idle@example.com');
    const { body: me } = await t.ask('GET', '/me', { token: old.access_token });
    const logged = (count: number) =>
      t.ctx.db.transaction(async (tx) => {
        for (let n = 0; n < count; n++) await recordEvent(t.ctx, tx, { type: 'login', userId: me.id });
      });
    await logged(600);
    t.pass(86_400 - 60);
    await t.sweep();
    expect((await auditAll(t)).events).toBe(604);
    const tokens = await t.login();
    await logged(3);
    t.pass(61);
    await Promise.all([t.sweep(), other.sweep()]);
    await t.sweep();
    expect(await auditAll(t)).toEqual({ problems: [], events: 4 });
    expect(await typesOf(t, tokens)).toEqual(['login', 'login', 'login', 'login']);
    await t.login('idle@example.com');
    expect(await auditAll(t)).toMatchObject({ problems: [], events: 5 });
    await run(t, `DELETE FROM events WHERE user_id = '${me.id}' AND seq = 603`);
    expect((await auditAll(t)).problems).toEqual(['removed: event 603']);
  });

  test('a sweep does not delete events whose age was forged, and logs a warning', async () => {
    const t = await open({ settings: { LATCHKEY_EVENT_RETENTION: '86400' } });
    const tokens = await t.login();
    await t.ask('PATCH', '/me', { token: tokens.access_token, json: { name: 'B' } });
    await run(t, 'UPDATE events SET created_at = 1');
    await run(t, 'UPDATE event_chains SET oldest_at = 1');
    await t.sweep();
    expect(await countEvents(t, 'profile_changed')).toBe(1);
    expect(t.logs.join('')).toContain('a security log is damaged');
    expect((await auditAll(t)).problems).toHaveLength(3);
  });

  test('deleting an account deletes its log', async () => {
    await t.login();
    await t.login('eve@example.com');
    await run(t, "DELETE FROM users WHERE email = 'ada@example.com'");
    expect(await auditAll(t)).toMatchObject({ problems: [], events: 2 });
    expect(await t.ctx.db.read.run('SELECT user_id FROM event_chains', [])).toHaveLength(1);
  });
});
