import { beforeEach, expect, test } from 'bun:test';
import { deviceCodeGrantType } from '@latchkey/contract/tokens';
import { outcome } from '#support/account.ts';
import { onBothDatabases, type Tokens } from '#support/app.ts';
import { type Decision, type DeviceCodes, decideDevice, pollDevice, startDevice } from '#support/devices.ts';
import { shared } from '#support/shared.ts';

/** The device, a browser in its network, and one in another. */
const [device, near, far] = ['192.0.2.1', '192.0.2.77', '198.51.100.9'];

const required = '400 confirmation_required';

onBothDatabases('device sign-ins that have to be confirmed', (open) => {
  const app = shared(() => open({ settings: { LATCHKEY_DEVICE_LOGIN: 'confirm' } }));
  let tokens: Tokens;
  beforeEach(async () => {
    tokens = await app.login();
  });

  const start = (json: object = { confirmation: true }, peer = device) => startDevice(app, json, { peer });
  const decide = (decision: Decision, codes: DeviceCodes, peer = far) =>
    decideDevice(app, decision, codes, tokens, { peer });
  const send = (codes: DeviceCodes, confirmation_code?: string, headers: Record<string, string> = {}) => {
    const json = { device_code: codes.device_code, ...(confirmation_code && { confirmation_code }) };
    return app.ask('POST', '/token', { json, headers, peer: device });
  };
  const poll = async (...sent: Parameters<typeof send>) => outcome(await send(...sent));
  const other = (code: string) => (code === '000000' ? '000001' : '000000');
  /** Started on the device, and approved in another network. */
  const approved = async () => {
    const codes = await start();
    const { confirmation_code } = (await decide('approve', codes)).body;
    return { ...codes, code: confirmation_code as string };
  };

  test('an approval in another network hands out tokens only with the code that the page shows', async () => {
    const codes = await start();
    expect((await decide('verify', codes)).body.confirmation).toBe('required');
    const { status, body } = await decide('approve', codes);
    expect([status, body]).toEqual([200, { confirmation_code: expect.stringMatching(/^\d{6}$/) }]);
    expect(outcome(await decide('approve', codes))).toBe('400 invalid_grant');
    expect(await poll(codes)).toBe(required);
    app.pass(5);
    expect(await poll(codes, body.confirmation_code)).toBe('200');
    expect(await poll(codes, body.confirmation_code)).toBe('400 invalid_grant');
  });

  test('a form takes the code, too, and confirmation as text', async () => {
    const started = await app.ask('POST', '/device', { form: { confirmation: 'true' }, peer: device });
    const { confirmation_code } = (await decide('approve', started.body)).body;
    const typed = confirmation_code.replace(/^.../, '$&\u2212\u200b').replaceAll('1', '\uff11');
    const { device_code } = started.body;
    const form = { grant_type: deviceCodeGrantType, device_code, confirmation_code: typed };
    expect(outcome(await app.ask('POST', '/token', { form }))).toBe('200');
  });

  test.each([
    ['can ask for a code, in its network', { confirmation: true }, near, 'none'],
    ['cannot ask, in its network', {}, near, 'none'],
    ['says nothing of it, from another network', {}, far, 'impossible'],
    ['cannot ask, from another network', { confirmation: false }, far, 'impossible'],
  ])('a program that %s', async (_, json, peer, confirmation) => {
    const codes = await start(json);
    expect((await decide('verify', codes, peer)).body.confirmation).toBe(confirmation);
    if (confirmation === 'impossible') {
      // It stays pending.
      expect(outcome(await decide('approve', codes, peer))).toBe('400 access_denied');
      expect(await poll(codes)).toBe('400 authorization_pending');
    }
    expect((await decide('approve', codes, near)).status).toBe(204);
    expect(await poll(codes)).toBe('200');
  });

  test('IPv4 and IPv6 are two networks', async () => {
    const codes = await start({ confirmation: true }, '2001:db8:0:1::5');
    expect((await decide('verify', codes, near)).body.confirmation).toBe('required');
    expect((await decide('verify', codes, '2001:db8:0:1::6')).body.confirmation).toBe('none');
  });

  // `right` and `wrong` codes, in the intervals one after the other. No code is no try.
  test.each([
    [
      ['wrong', 'wrong', 'right'],
      [required, required, '200'],
    ],
    [
      ['wrong', 'wrong', 'wrong', 'right'],
      [required, required, '400 access_denied', '400 access_denied'],
    ],
    [
      ['none', 'none', 'none', 'none', 'right'],
      [required, required, required, required, '200'],
    ],
  ])('the third wrong code ends the authorization: %p', async (given, expected) => {
    const { code, ...codes } = await approved();
    const answers = [];
    for (const one of given) {
      app.pass(5);
      answers.push(await poll(codes, { right: code, wrong: other(code) }[one]));
    }
    expect(answers).toEqual(expected);
  });

  test('a poll that is too early is slow_down, and its code is not looked at', async () => {
    const { code, ...codes } = await approved();
    expect(await poll(codes)).toBe(required);
    for (const given of [other(code), code]) expect(await poll(codes, given)).toBe('400 slow_down');
    app.pass(15);
    expect(await poll(codes, code)).toBe('200');
  });

  test('a code before the approval is not looked at', async () => {
    const codes = await start();
    for (let n = 0; n < 4; n++) {
      expect(await poll(codes, '123456')).toBe('400 authorization_pending');
      app.pass(5);
    }
    const { confirmation_code } = (await decide('approve', codes)).body;
    expect(await poll(codes, confirmation_code)).toBe('200');
  });

  test('a poll repeated with its idempotency key and the same code is one try', async () => {
    const { code, ...codes } = await approved();
    const once = { 'Idempotency-Key': 'once' };
    for (let n = 0; n < 6; n++) {
      expect(await poll(codes, other(code), { 'Idempotency-Key': `${n % 2}` })).toBe(required);
      app.pass(5);
    }
    const first = await send(codes, code, once);
    expect(outcome(first)).toBe('200');
    expect((await send(codes, code, once)).body.refresh_token).toBe(first.body.refresh_token);
    for (const another of [other(code), undefined])
      expect(await poll(codes, another, once)).toBe('400 invalid_grant');
  });

  test.each([0, 11, 23])(
    'of parallel codes one is looked at, wherever the right one is (%d)',
    async (place) => {
      const { code, ...codes } = await approved();
      const given = Array.from({ length: 24 }, (_, index) => (index === place ? code : other(code)));
      const answers = await Promise.all(given.map((one) => poll(codes, one)));
      expect(answers.filter((answer) => answer === '200' || answer === required)).toHaveLength(1);
    },
  );

  test('a held poll is answered at once, and the next may come after the interval', async () => {
    const codes = await start();
    const held = poll(codes, undefined, { Prefer: 'wait=25' });
    await app.untilWaiting(1, 20);
    const { confirmation_code } = (await decide('approve', codes)).body;
    expect(await held).toBe(required);
    app.pass(5);
    expect(await poll(codes, confirmation_code)).toBe('200');
  });

  test('with open there is never anything to confirm', async () => {
    const opened = await open();
    const own = await opened.login();
    const codes = await startDevice(opened, { confirmation: true }, { peer: device });
    const seen = await decideDevice(opened, 'verify', codes, own, { peer: far });
    expect(seen.body.confirmation).toBe('none');
    expect((await decideDevice(opened, 'approve', codes, own, { peer: far })).status).toBe(204);
  });

  test('with off no device sign-in starts, pending ones are over, and the metadata says so', async () => {
    const codes = await start();
    const off = await open({ beside: app, settings: { LATCHKEY_DEVICE_LOGIN: 'off' } });
    expect(outcome(await off.ask('POST', '/device', { json: {} }))).toBe('403 unauthorized_client');
    expect(outcome(await pollDevice(off, codes))).toBe('400 invalid_grant');
    for (const decision of ['verify', 'approve', 'deny'] as const)
      expect(outcome(await decideDevice(off, decision, codes, tokens))).toBe('400 invalid_grant');
    const { body } = await off.ask('GET', '.well-known/oauth-authorization-server');
    expect(body.device_authorization_endpoint).toBeUndefined();
    expect(body.grant_types_supported).not.toContain(deviceCodeGrantType);
  });
});
