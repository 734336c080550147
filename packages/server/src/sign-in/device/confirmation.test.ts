import { beforeEach, expect, test } from 'bun:test';
import { deviceCodeGrantType } from '@latchkey/contract/tokens';
import { outcome } from '#support/account.ts';
import { onBothDatabases, type Tokens } from '#support/app.ts';
import { type Decision, type DeviceCodes, decideDevice, pollDevice, startDevice } from '#support/devices.ts';
import { shared } from '#support/shared.ts';

const required = '400 confirmation_required';
const answers: Record<string, string> = {
  required,
  unknown: '400 invalid_grant',
  denied: '400 access_denied',
  early: '400 slow_down',
};

/** The device, a browser in its network, and one in another. */
const [device, near, far] = ['192.0.2.1', '192.0.2.77', '198.51.100.9'];
const ipv6 = '2001:db8:0:1:';

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

  // Polls with the right code, a wrong one or none, each with its answer, and how much time passes between them.
  test.each([
    [
      'with the code that the page shows, once, also after two wrong ones; none at all is no try',
      'none required, 5 s, none required, 5 s, wrong required, 5 s, wrong required, 5 s, right 200, right unknown',
    ],
    [
      'not after the third wrong code',
      'wrong required, 5 s, wrong required, 5 s, wrong denied, 5 s, right denied',
    ],
    [
      'not in a poll that is too early, whose code is not looked at, as none is before the approval',
      'none required, wrong early, right early, 15 s, wrong required, 15 s, wrong required, 15 s, right 200',
    ],
  ])('an approval in another network hands out tokens %s', async (_, script) => {
    const codes = await start();
    expect((await decide('verify', codes)).body.confirmation).toBe('required');
    for (let n = 0; n < 3; n++) {
      expect(await poll(codes, '123456')).toBe('400 authorization_pending');
      app.pass(5);
    }
    const { status, body } = await decide('approve', codes);
    expect([status, body]).toEqual([200, { confirmation_code: expect.stringMatching(/^\d{6}$/) }]);
    expect(outcome(await decide('approve', codes))).toBe('400 invalid_grant');
    const right = body.confirmation_code;
    for (const step of script.split(', ')) {
      const [word = '', then = ''] = step.split(' ');
      if (then === 's') app.pass(Number(word));
      else {
        const answer = await poll(codes, { right, wrong: other(right) }[word]);
        expect([step, answer]).toEqual([step, answers[then] ?? then]);
      }
    }
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
    ['can ask for a code, in its network', { confirmation: true }, device, near, 'none'],
    ['cannot ask, in its network', {}, device, near, 'none'],
    ['says nothing of it, from another network', {}, device, far, 'impossible'],
    ['cannot ask, from another network', { confirmation: false }, device, far, 'impossible'],
    ['can ask for a code, in its IPv6 network', { confirmation: true }, `${ipv6}:5`, `${ipv6}:6`, 'none'],
    ['cannot ask, from IPv4, which is another network', {}, `${ipv6}:5`, near, 'impossible'],
  ])('a program that %s', async (_, json, from, peer, confirmation) => {
    const codes = await start(json, from);
    expect((await decide('verify', codes, peer)).body.confirmation).toBe(confirmation);
    if (confirmation === 'impossible') {
      // It stays pending.
      expect(outcome(await decide('approve', codes, peer))).toBe('400 access_denied');
      expect(await poll(codes)).toBe('400 authorization_pending');
    }
    const inItsNetwork = from === device ? near : `${ipv6}:6`;
    expect((await decide('approve', codes, inItsNetwork)).status).toBe(204);
    expect(await poll(codes)).toBe('200');
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
