// A form refresh without an Idempotency-Key, as OAuth clients send it: repeated within the leeway by the client that sent it.

import { expect, test } from 'bun:test';
import { isLive, outcome } from '../../../../tests/support/account.ts';
import {
  type Answer,
  type Ask,
  onBothDatabases,
  sharedNodes,
  type TestApp,
} from '../../../../tests/support/app.ts';
import { basic, declareService } from '../../../../tests/support/services.ts';

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
const asService = (authorization: string, members = {}): Send =>
  form(from('192.0.2.1', 'oauth-client/1.2', { Authorization: authorization }), members);

onBothDatabases('a form refresh without an Idempotency-Key', (open, dialect) => {
  const { app, node } = sharedNodes(open, dialect);
  const nodes = [...new Set([app, node])];

  test('the same client gets the same successor within the leeway', async () => {
    const [tickets, other] = [await declareService(app.ctx), await declareService(app.ctx)];
    const wrong = basic(`${tickets.id}:wrong`);
    const cases: Record<string, [Send, Send]> = {
      same: [form(), form()],
      'the other endpoint': [form(), form(client, {}, '/refresh')],
      'an update in the same network': [form(), form(from('192.0.2.250', 'oauth-client/2.0'))],
      'its client_id again': [form(client, { client_id: 'x' }), form(client, { client_id: 'x' })],
      'its service key in the form': [
        asService(tickets.authorization),
        form(client, { client_id: tickets.id, client_secret: tickets.secret }),
      ],
    };
    for (const [name, [first, second]] of Object.entries(cases)) {
      const token = await signIn(app);
      const { body } = await first(app, token);
      app.pass(9);
      const again = await second(app, token);
      expect([name, outcome(again), lastDetail(app)]).toEqual([name, '200', 'retry']);
      expect([name, again.body.refresh_token]).toEqual([name, body.refresh_token]);
    }

    const races: Record<string, [Send, Send]> = {
      'another program': [form(), form(from('192.0.2.1', 'curl/8.0'))],
      'another network': [form(), form(from('192.0.3.1', 'oauth-client/1.2'))],
      'another client_id': [form(client, { client_id: 'x' }), form(client, { client_id: 'y' })],
      'no client_id': [form(client, { client_id: 'x' }), form()],
      'a new client_id': [form(), form(client, { client_id: 'x' })],
      'another service': [asService(tickets.authorization), asService(other.authorization)],
      'a wrong service key': [asService(tickets.authorization), asService(wrong)],
      'no service key': [asService(tickets.authorization), form(client, { client_id: tickets.id })],
      'JSON after a form': [form(), json],
      'a form after JSON': [json, form()],
      'JSON after JSON': [json, json],
      'a key after none': [form(), form(withKey)],
      'none after a key': [form(withKey), form()],
    };
    for (const [name, [first, second]] of Object.entries(races)) {
      const token = await signIn(app);
      const { body } = await first(app, token);
      const again = await second(app, token);
      expect([name, outcome(again), lastDetail(app)]).toEqual([name, '400 invalid_grant', 'race']);
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
