// A form refresh without an Idempotency-Key, as OAuth clients send it: repeated within the leeway by the client that sent it.

import { expect, test } from 'bun:test';
import { isLive, outcome } from '#support/account.ts';
import { type Answer, type Ask, onBothDatabases, sharedNodes, type TestApp } from '#support/app.ts';
import { basic, declareService } from '#support/services.ts';

let people = 0;
const lastDetail = (app: TestApp) => JSON.parse(app.logs.at(-1)!).detail;
const from = (peer: string, userAgent: string, headers = {}): Ask => ({
  peer,
  headers: { 'User-Agent': userAgent, ...headers },
});
const client = from('192.0.2.1', 'oauth-client/1.2');
const withKey = from('192.0.2.1', 'oauth-client/1.2', { 'Idempotency-Key': 'key' });
const signIn = async (app: TestApp) => (await app.login(`person-${people++}@example.com`)).refresh_token;

type Send = (app: TestApp, refresh_token: string) => Promise<Answer>;
const form =
  (ask = client, members: Record<string, string> = {}, path = '/token'): Send =>
  (app, refresh_token) =>
    app.ask('POST', path, { ...ask, form: { grant_type: 'refresh_token', refresh_token, ...members } });
const json: Send = (app, refresh_token) =>
  app.ask('POST', '/refresh', { ...client, json: { refresh_token } });
const asService = (authorization: string): Send =>
  form(from('192.0.2.1', 'oauth-client/1.2', { Authorization: authorization }));

onBothDatabases('a form refresh without an Idempotency-Key', (open, dialect) => {
  const { app, node } = sharedNodes(open, dialect);
  const nodes = [...new Set([app, node])];

  test('only the same client, in the same way, gets the same successor within the leeway', async () => {
    const [tickets, other] = [await declareService(app.ctx), await declareService(app.ctx)];
    const { id: client_id, secret: client_secret, authorization } = tickets;
    const wrong = basic(`${client_id}:wrong`);
    const named = (client_id: string) => form(client, { client_id });
    const cases: [string, Send, Send, 'retry' | 'race'][] = [
      ['same', form(), form(), 'retry'],
      ['the other endpoint', form(), form(client, {}, '/refresh'), 'retry'],
      ['an update in the same network', form(), form(from('192.0.2.250', 'oauth-client/2.0')), 'retry'],
      ['its client_id again', named('x'), named('x'), 'retry'],
      ['its key in the form', asService(authorization), form(client, { client_id, client_secret }), 'retry'],
      ['another program', form(), form(from('192.0.2.1', 'curl/8.0')), 'race'],
      ['another network', form(), form(from('192.0.3.1', 'oauth-client/1.2')), 'race'],
      ['another client_id', named('x'), named('y'), 'race'],
      ['no client_id', named('x'), form(), 'race'],
      ['a new client_id', form(), named('x'), 'race'],
      ['another service', asService(authorization), asService(other.authorization), 'race'],
      ['a wrong service key', asService(authorization), asService(wrong), 'race'],
      ['no service key', asService(authorization), named(client_id), 'race'],
      ['JSON after a form', form(), json, 'race'],
      ['a form after JSON', json, form(), 'race'],
      ['JSON after JSON', json, json, 'race'],
      ['a key after none', form(), form(withKey), 'race'],
      ['none after a key', form(withKey), form(), 'race'],
    ];
    for (const [name, first, second, detail] of cases) {
      const token = await signIn(app);
      const { body } = await first(app, token);
      app.pass(9);
      const again = await second(app, token);
      const expected = detail === 'retry' ? '200' : '400 invalid_grant';
      expect([name, outcome(again), lastDetail(app)]).toEqual([name, expected, detail]);
      if (detail === 'retry') expect([name, again.body.refresh_token]).toEqual([name, body.refresh_token]);
      expect([name, await isLive(app, body)]).toEqual([name, true]);
    }
  });

  test('20 parallel requests get the same successor', async () => {
    const token = await signIn(app);
    const before = nodes.map(({ logs }) => logs.length);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => form()(nodes[i % nodes.length]!, token)),
    );
    expect(new Set(answers.map(outcome))).toEqual(new Set(['200']));
    expect(new Set(answers.map(({ body }) => body.refresh_token)).size).toBe(1);
    const logged = nodes.flatMap(({ logs }, i) => logs.slice(before[i]));
    const details = logged.map((line) => JSON.parse(line).detail).sort();
    expect(details).toEqual([...Array.from({ length: 19 }, () => 'retry'), 'rotated']);
  });

  test('after the leeway, and once the successor was used, the token counts as stolen', async () => {
    const late = await signIn(app);
    const { body: unused } = await form()(app, late);
    app.pass(11);
    expect(outcome(await form()(app, late))).toBe('400 invalid_grant');
    expect([lastDetail(app), await isLive(app, unused)]).toEqual(['theft', false]);

    const old = await signIn(app);
    const { body: second } = await form()(app, old);
    const { body: third } = await form()(app, second.refresh_token);
    expect(outcome(await form()(app, old))).toBe('400 invalid_grant');
    expect([lastDetail(app), await isLive(app, third)]).toEqual(['theft', false]);
  });
});
