// The feed as services read it, on both databases.

import { expect, test } from 'bun:test';
import { outcome } from '#support/account.ts';
import { onBothDatabases, type TestApp } from '#support/app.ts';
import { eventsOf, feedService } from '#support/feed.ts';
import { changeService } from '#support/services.ts';
import { fresh } from '#support/shared.ts';
import { until } from '#support/until.ts';
import { revokeService } from '../../sessions/ending.ts';
import { listSigningKeys } from '../signing-keys/signing-keys.ts';

/** Ends the newest session of an account; returns its id. */
async function endOne(t: TestApp, email = 'ada@example.com'): Promise<string> {
  const { access_token: accessToken } = await t.login(email);
  const { sessions } = await t.api.call('listSessions', { accessToken });
  await t.api.call('logout', { accessToken, query: { scope: 'session' } });
  return sessions.find(({ current }) => current)!.id;
}

const now = { returnImmediately: true };
const sessionOf = ({ subject }: { subject: { session?: { id: string } } }) => subject.session?.id;

onBothDatabases('the feed', (open, dialect) => {
  const t = fresh(open);

  test('a service gets each event as a signed token until it acknowledges it, what it has not acknowledged before everything newer; a second key is made beside', async () => {
    const service = await feedService(t);
    const asOther = async () => (await service.ask({ ...now, reader: 'other' })).body.sets;
    await asOther();
    const ended = [await endOne(t), await endOne(t), await endOne(t)];
    const { body } = await service.ask(now);
    expect(body).toMatchObject({ moreAvailable: false });
    expect(body).not.toHaveProperty('begun');
    expect((await eventsOf(t, service.id, body)).map(sessionOf)).toEqual(ended);
    const jtis = Object.keys(body.sets);
    await service.ask({ ...now, ack: [jtis[1], 'unknown'] });
    expect(Object.keys(await asOther())).toEqual(jtis);
    ended.push(await endOne(t));
    const answer = await service.ask({ ...now, maxEvents: 2 });
    expect(answer.body.moreAvailable).toBe(true);
    expect((await eventsOf(t, service.id, answer.body)).map(sessionOf)).toEqual([ended[0], ended[2]]);
    const rest = await service.ask({ ...now, ack: [jtis[0], jtis[2]] });
    expect((await eventsOf(t, service.id, rest.body)).map(sessionOf)).toEqual([ended[3]]);
    expect((await service.ask({ ...now, ack: Object.keys(rest.body.sets) })).body.sets).toEqual({});
    expect(await t.ctx.db.read.run('SELECT * FROM feed_acknowledgements', [])).toEqual([]);
    // No answer waits for it.
    await until(async () => (await listSigningKeys(t.ctx)).length === 2, 'the second signing key');
  });

  test('without events a request waits, and an event ends the wait on every node, and the end of the process that on its own', async () => {
    const t = await open({ settings: { LATCHKEY_FEED_WAIT: '20' } });
    const nodes =
      dialect === 'postgres' ? [t, await open({ beside: t, settings: { LATCHKEY_FEED_WAIT: '20' } })] : [t];
    const service = await feedService(t);
    const { access_token: accessToken } = await t.login();
    for (const [n, node] of nodes.entries()) {
      const begun = await service.ask({ reader: `node-${n}`, ...now }, node);
      expect(begun.body).toMatchObject({ begun: true, sets: {} });
    }
    const waiting = nodes.map((node, n) => service.ask({ reader: `node-${n}` }, node));
    await t.untilWaiting(nodes.length, 15);
    t.pass(1);
    await t.api.call('revoke', { accessToken });
    const endedAt = t.ctx.clock();
    for (const { body } of await Promise.all(waiting)) {
      const events = await eventsOf(t, service.id, body);
      expect(events.map(({ type }) => type)).toEqual(['session-revoked']);
      expect(body.after).toBeWithin(1_000, 1_050);
      expect(Date.parse(body.through)).toBeWithin(endedAt, endedAt + 50);
    }
    const ack = Object.keys((await service.ask(now)).body.sets);
    await service.ask({ maxEvents: 0, ack });
    const stopped = Array.from({ length: 20 }, () => service.ask());
    await t.untilWaiting(20, 15);
    t.stopWaiting();
    for (const { status } of await Promise.all(stopped)) expect(status).toBe(200);
    for (const node of nodes.toReversed()) await node.close();
  });

  test('a wait ends after LATCHKEY_FEED_WAIT with an answer that is fresh', async () => {
    const service = await feedService(t);
    const startedAt = t.ctx.clock();
    const waiting = service.ask();
    await t.untilWaiting(1, t.ctx.config.feedWaitSeconds);
    t.pass(t.ctx.config.feedWaitSeconds);
    const { body } = await waiting;
    const after = t.ctx.config.feedWaitSeconds * 1000;
    const through = new Date(startedAt + after + 1).toISOString();
    expect(body).toEqual({ sets: {}, moreAvailable: false, through, after });
  });

  test('through is never after an event that is missing; with maxEvents 0 a request only acknowledges, and does not wait', async () => {
    const service = await feedService(t);
    const times: number[] = [];
    for (let n = 0; n < 3; n++) {
      await endOne(t);
      times.push(t.ctx.clock());
      t.pass(1);
    }
    for (const maxEvents of [0, 1, 2]) {
      const { body } = await service.ask({ maxEvents });
      expect([Object.keys(body.sets).length, body.moreAvailable]).toEqual([maxEvents, true]);
      expect(Date.parse(body.through)).toBeLessThanOrEqual(times[maxEvents]!);
      expect(Date.parse(body.through)).toBeGreaterThanOrEqual(times[maxEvents - 1] ?? 0);
      expect(body.after).toBeLessThanOrEqual(0);
    }
    const ack = Object.keys((await service.ask(now)).body.sets);
    const { body } = await service.ask({ maxEvents: 0, ack });
    expect([body.sets, body.moreAvailable]).toEqual([{}, false]);
  });

  test('a service begins when it gets the right to read, a reader with its first request; each gets everything since and acknowledges for itself', async () => {
    await endOne(t);
    const service = await feedService(t);
    const ended = [await endOne(t)];
    for (const reader of ['a', 'b']) {
      const answers = await Promise.all(Array.from({ length: 8 }, () => service.ask({ ...now, reader })));
      expect(answers.map(({ status, body }) => [status, body.sets])).toEqual(answers.map(() => [200, {}]));
      expect(answers.filter(({ body }) => body.begun)).toHaveLength(1);
    }
    const other = await feedService(t);
    ended.push(await endOne(t));
    for (const reader of ['a', 'b']) expect((await service.read(reader)).map(sessionOf)).toEqual([ended[1]]);
    expect((await service.read()).map(sessionOf)).toEqual(ended);
    for (const reader of ['a', 'b', undefined]) expect(await service.read(reader)).toEqual([]);
    expect((await other.read()).map(sessionOf)).toEqual([ended[1]]);
  });

  test('a service that loses the right reads nothing, also when it waits, as one that is revoked, and begins anew when it has it again', async () => {
    const [service, revoked] = [await feedService(t), await feedService(t)];
    await service.ask({ ...now, reader: 'one' });
    await endOne(t);
    const waiting = [service, revoked].map((one) => one.ask({ reader: 'two' }));
    await t.untilWaiting(2, 0.9);
    await changeService(t.ctx, service.id, { rights: ['users'] });
    await revokeService(t.ctx, revoked.id);
    await endOne(t);
    const refused = ['403 unauthorized_client', '401 invalid_client'];
    expect((await Promise.all(waiting)).map(outcome)).toEqual(refused);
    expect(outcome(await service.ask(now))).toBe(refused[0]!);
    await changeService(t.ctx, service.id, { rights: ['feed'] });
    const ended = await endOne(t);
    await changeService(t.ctx, service.id, { rights: ['feed', 'users'] });
    expect((await service.read()).map(sessionOf)).toEqual([ended]);
    // What a reader remembers may have ended while the service had no right to know.
    expect((await service.ask({ ...now, reader: 'one' })).body).toMatchObject({ begun: true, sets: {} });
    const next = await endOne(t);
    for (const reader of ['one', undefined])
      expect((await service.read(reader)).map(sessionOf)).toEqual([next]);
  });

  test('a reader is forgotten after 10 minutes without a request, and a service has at most 1,000', async () => {
    const service = await feedService(t);
    const begin = async (reader: string) => {
      const { status, body } = await service.ask({ ...now, reader });
      return body.error ?? (body.begun ? 'begun' : status);
    };
    expect(await begin('one')).toBe('begun');
    t.pass(599);
    expect(await begin('one')).toBe(200);
    t.pass(599);
    expect(await begin('one')).toBe(200);
    t.pass(611);
    expect(await begin('one')).toBe('begun');
    for (const some of Array.from({ length: 27 }, (_, n) => n * 37))
      await Promise.all(
        Array.from({ length: 37 }, async (_, n) => expect(await begin(`r${some + n}`)).toBe('begun')),
      );
    expect(await begin('too-many')).toBe('conflict');
    expect(await begin('one')).toBe(200);
    expect((await service.ask(now)).status).toBe(200);
    expect(await (await feedService(t)).ask({ ...now, reader: 'one' })).toMatchObject({ status: 200 });
    t.pass(611);
    expect(await begin('too-many')).toBe('begun');
    t.pass(7_200);
    await t.sweep();
    expect(await t.ctx.db.read.run('SELECT id FROM feed_readers WHERE name IS NOT NULL', [])).toEqual([]);
  });

  test('events are kept for 7 days; a service that was away, or has not acknowledged, for longer gets 410 once and begins anew', async () => {
    const [away, never, silent] = [await feedService(t), await feedService(t), await feedService(t)];
    expect(await away.read()).toEqual([]);
    const ended = await endOne(t);
    for (let day = 0; day < 7; day++) {
      expect(Object.keys((await silent.ask(now)).body.sets)).toHaveLength(1);
      if (day === 6) expect((await away.read()).map(sessionOf)).toEqual([ended]);
      t.pass(86_400);
      await t.sweep();
    }
    t.pass(60);
    expect((await silent.ask(now)).body.error).toBe('gone');
    t.pass(6 * 86_400);
    await endOne(t);
    for (const service of [away, never]) {
      expect(outcome(await service.ask(now))).toBe('410 gone');
      expect((await service.ask(now)).body.sets).toEqual({});
    }
    const later = await endOne(t);
    for (const service of [away, never, silent])
      expect((await service.read()).map(sessionOf)).toContain(later);
    t.pass(8 * 86_400);
    await t.sweep();
    expect(await t.ctx.db.read.run('SELECT seq FROM feed_events', [])).toEqual([]);
  });

  test('a request is logged only if it fails, and what a service could not process, without secrets', async () => {
    const service = await feedService(t);
    await endOne(t);
    const [jti] = Object.keys((await service.ask(now)).body.sets);
    expect((await service.ask({ maxEvents: -1 })).status).toBe(400);
    const description = `for ada@example.com lk_at_${'x'.repeat(40)}`;
    const setErrs = { [jti!]: { err: 'invalid_key', description } };
    expect((await service.ask({ ...now, setErrs })).body.sets).toEqual({});
    const line = t.logs.find((text) => text.includes('could not process'))!;
    expect(JSON.parse(line)).toMatchObject({ service: service.id, jti, err: 'invalid_key' });
    expect(line).not.toMatch(/ada@example|lk_at_/);
    const logged = t.logs.map((text) => JSON.parse(text)).filter(({ route }) => route?.endsWith('/feed'));
    expect(logged).toMatchObject([{ status: 400 }]);
  });

  test('the largest request is answered, and setErrs and the name of a reader have their form', async () => {
    const service = await feedService(t);
    const ack = Array.from({ length: 1000 }, () => `evt_${'x'.repeat(22)}`);
    const largest = { ...now, maxEvents: 1000, ack, reader: 'x'.repeat(64) };
    expect((await service.ask(largest)).status).toBe(200);
    for (const json of [{ setErrs: { a: {} } }, { reader: 'a b' }, { reader: 'x'.repeat(65) }])
      expect([json, outcome(await service.ask({ ...now, ...json }))]).toEqual([json, '400 invalid_request']);
  });
});
