import { beforeEach, expect, test } from 'bun:test';
import { onBothDatabases, type Tokens } from '../../../../../tests/support/app.ts';
import { shared } from '../../../../../tests/support/shared.ts';

/** The device, a browser in its network, and one in another. */
const [device, near, far] = ['192.0.2.1', '192.0.2.77', '198.51.100.9'];

onBothDatabases('device sign-ins that have to be confirmed', (open) => {
  const app = shared(() => open({ settings: { LATCHKEY_DEVICE_LOGIN: 'confirm' } }));
  let tokens: Tokens;
  beforeEach(async () => {
    tokens = await app.login();
  });

  const start = async (json: object = { confirmation: true }, peer = device) =>
    (await app.ask('POST', '/device', { json, peer })).body;
  const decide = (path: string, user_code: string, peer = far) =>
    app.ask('POST', `/device/${path}`, { token: tokens.access_token, json: { user_code }, peer });
  const poll = (device_code: string, confirmation_code?: string, headers: Record<string, string> = {}) =>
    app.ask('POST', '/token', {
      json: { device_code, ...(confirmation_code === undefined ? {} : { confirmation_code }) },
      headers,
      peer: device,
    });
  const outcome = ({ status, body }: { status: number; body: { error?: string } }) =>
    body?.error === undefined ? status : body.error;
  const other = (code: string) => (code === '000000' ? '000001' : '000000');
  /** Started on the device, and approved in another network. */
  const approved = async () => {
    const { device_code, user_code } = await start();
    const { confirmation_code } = (await decide('approve', user_code)).body;
    return { device_code, code: confirmation_code as string };
  };

  test('an approval in another network hands out tokens only with the code that the page shows', async () => {
    const { device_code, user_code } = await start();
    expect((await decide('verify', user_code)).body.confirmation).toBe('required');
    const answer = await decide('approve', user_code);
    expect([answer.status, answer.body]).toEqual([
      200,
      { confirmation_code: expect.stringMatching(/^\d{6}$/) },
    ]);
    expect(outcome(await decide('approve', user_code))).toBe('invalid_grant');
    expect(outcome(await poll(device_code))).toBe('confirmation_required');
    app.pass(5);
    expect(outcome(await poll(device_code, answer.body.confirmation_code))).toBe(200);
    expect(outcome(await poll(device_code, answer.body.confirmation_code))).toBe('invalid_grant');
  });

  test('a form takes the code, too, and confirmation as text', async () => {
    const started = await app.ask('POST', '/device', { form: { confirmation: 'true' }, peer: device });
    const { device_code, user_code } = started.body;
    const { confirmation_code } = (await decide('approve', user_code)).body;
    const grant_type = 'urn:ietf:params:oauth:grant-type:device_code';
    const answer = await app.ask('POST', '/token', {
      form: {
        grant_type,
        device_code,
        confirmation_code: confirmation_code.replace(/^.../, '$&\u2212\u200b').replaceAll('1', '\uff11'),
      },
    });
    expect(answer.status).toBe(200);
  });

  test("in the device's network there is nothing to confirm", async () => {
    for (const json of [{ confirmation: true }, {}]) {
      const { device_code, user_code } = await start(json);
      expect((await decide('verify', user_code, near)).body.confirmation).toBe('none');
      expect((await decide('approve', user_code, near)).status).toBe(204);
      expect(outcome(await poll(device_code))).toBe(200);
    }
  });

  test('IPv4 and IPv6 are two networks', async () => {
    const { user_code } = await start({ confirmation: true }, '2001:db8:0:1::5');
    expect((await decide('verify', user_code, near)).body.confirmation).toBe('required');
    expect((await decide('verify', user_code, '2001:db8:0:1::6')).body.confirmation).toBe('none');
  });

  test('a program that cannot ask is not approved from another network, and stays pending', async () => {
    for (const json of [{}, { confirmation: false }]) {
      const { device_code, user_code } = await start(json);
      expect((await decide('verify', user_code)).body.confirmation).toBe('impossible');
      expect(outcome(await decide('approve', user_code))).toBe('access_denied');
      expect(outcome(await poll(device_code))).toBe('authorization_pending');
      expect((await decide('approve', user_code, near)).status).toBe(204);
      expect(outcome(await poll(device_code))).toBe(200);
    }
  });

  test('the third wrong code ends the authorization', async () => {
    const { device_code, code } = await approved();
    for (const expected of ['confirmation_required', 'confirmation_required', 'access_denied']) {
      expect(outcome(await poll(device_code, other(code)))).toBe(expected);
      app.pass(5);
    }
    expect(outcome(await poll(device_code, code))).toBe('access_denied');
    const second = await approved();
    for (const given of [other(second.code), other(second.code), second.code]) {
      app.pass(5);
      const expected = given === second.code ? 200 : 'confirmation_required';
      expect(outcome(await poll(second.device_code, given))).toBe(expected);
    }
  });

  test('polls without a code are no tries', async () => {
    const { device_code, code } = await approved();
    for (let n = 0; n < 5; n++) {
      expect(outcome(await poll(device_code))).toBe('confirmation_required');
      app.pass(5);
    }
    expect(outcome(await poll(device_code, code))).toBe(200);
  });

  test('a poll that is too early is slow_down, and its code is not looked at', async () => {
    const { device_code, code } = await approved();
    expect(outcome(await poll(device_code))).toBe('confirmation_required');
    for (const given of [other(code), code])
      expect(outcome(await poll(device_code, given))).toBe('slow_down');
    app.pass(15);
    expect(outcome(await poll(device_code, code))).toBe(200);
  });

  test('a code before the approval is not looked at', async () => {
    const { device_code, user_code } = await start();
    for (let n = 0; n < 4; n++) {
      expect(outcome(await poll(device_code, '123456'))).toBe('authorization_pending');
      app.pass(5);
    }
    const { confirmation_code } = (await decide('approve', user_code)).body;
    expect(outcome(await poll(device_code, confirmation_code))).toBe(200);
  });

  test('a poll repeated with its idempotency key and the same code is one try', async () => {
    const { device_code, code } = await approved();
    const once = { 'Idempotency-Key': 'once' };
    for (let n = 0; n < 6; n++) {
      const key = { 'Idempotency-Key': `${n % 2}` };
      expect(outcome(await poll(device_code, other(code), key))).toBe('confirmation_required');
      app.pass(5);
    }
    const first = await poll(device_code, code, once);
    expect(outcome(first)).toBe(200);
    expect((await poll(device_code, code, once)).body.refresh_token).toBe(first.body.refresh_token);
    for (const another of [other(code), undefined])
      expect(outcome(await poll(device_code, another, once))).toBe('invalid_grant');
  });

  test.each([0, 11, 23])(
    'of parallel codes one is looked at, wherever the right one is (%d)',
    async (place) => {
      const { device_code, code } = await approved();
      const codes = Array.from({ length: 24 }, (_, index) => (index === place ? code : other(code)));
      const answers = (await Promise.all(codes.map((given) => poll(device_code, given)))).map(outcome);
      const lookedAt = answers.filter((answer) => answer === 200 || answer === 'confirmation_required');
      expect(lookedAt).toHaveLength(1);
    },
  );

  test('a held poll is answered at once, and the next may come after the interval', async () => {
    const { device_code, user_code } = await start();
    const held = poll(device_code, undefined, { Prefer: 'wait=25' });
    await app.untilWaiting(1, 20);
    const { confirmation_code } = (await decide('approve', user_code)).body;
    expect(outcome(await held)).toBe('confirmation_required');
    app.pass(5);
    expect(outcome(await poll(device_code, confirmation_code))).toBe(200);
  });

  test('with open there is never anything to confirm', async () => {
    const other = await open();
    const own = await other.login();
    const { body } = await other.ask('POST', '/device', { json: { confirmation: true }, peer: device });
    const ask = { token: own.access_token, json: { user_code: body.user_code }, peer: far };
    expect((await other.ask('POST', '/device/verify', ask)).body.confirmation).toBe('none');
    expect((await other.ask('POST', '/device/approve', ask)).status).toBe(204);
  });

  test('with off no device sign-in starts, pending ones are over, and the metadata says so', async () => {
    const { device_code, user_code } = await start();
    const off = await open({ beside: app, settings: { LATCHKEY_DEVICE_LOGIN: 'off' } });
    const refused = await off.ask('POST', '/device', { json: {} });
    expect([refused.status, outcome(refused)]).toEqual([403, 'unauthorized_client']);
    expect(outcome(await off.ask('POST', '/token', { json: { device_code } }))).toBe('invalid_grant');
    for (const path of ['verify', 'approve', 'deny']) {
      const ask = { token: tokens.access_token, json: { user_code } };
      expect(outcome(await off.ask('POST', `/device/${path}`, ask))).toBe('invalid_grant');
    }
    const { body } = await off.ask('GET', '.well-known/oauth-authorization-server');
    expect(body.device_authorization_endpoint).toBeUndefined();
    expect(body.grant_types_supported).not.toContain('urn:ietf:params:oauth:grant-type:device_code');
  });
});
