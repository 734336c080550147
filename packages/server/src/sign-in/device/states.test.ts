import { describe, expect, test } from 'bun:test';
import { deviceAuthorization, pendingDevice } from '@latchkey/contract/device';
import { newAddress, outcome } from '../../../../../tests/support/account.ts';
import { onBothDatabases, type Tokens } from '../../../../../tests/support/app.ts';
import { loggedEvents } from '../../../../../tests/support/security-log.ts';
import { shared } from '../../../../../tests/support/shared.ts';
import { turns } from '../../../../../tests/support/turns.ts';
import { mintHandle } from '../../platform/crypto/handle.ts';

const states = [
  'pending',
  'approved',
  'denied',
  'cancelled',
  'approved, then cancelled',
  'redeemed',
  'expired',
  'expired approved',
  'swept',
  'unknown',
];
const actions = ['poll', 'verify', 'approve', 'deny'] as const;
type Action = (typeof actions)[number];

const pollOutcomes: Record<string, string> = {
  pending: '400 authorization_pending',
  approved: '200',
  denied: '400 access_denied',
  cancelled: '400 invalid_grant',
  'approved, then cancelled': '400 invalid_grant',
  redeemed: '400 invalid_grant',
  expired: '400 expired_token',
  'expired approved': '400 expired_token',
  swept: '400 expired_token',
  unknown: '400 invalid_grant',
};
const pendingOutcomes = { verify: '200', approve: '204', deny: '204' };

onBothDatabases('device authorization', (open) => {
  const app = shared(open);

  interface Codes {
    device_code: string;
    user_code: string;
  }
  const start = async (json?: Record<string, string>): Promise<Codes> =>
    (await app.ask('POST', '/device', json ? { json } : {})).body;
  const call = (action: Action, { device_code, user_code }: Codes, { access_token: token }: Tokens) =>
    action === 'poll'
      ? app.ask('POST', '/token', { json: { device_code } })
      : app.ask('POST', `/device/${action}`, { json: { user_code }, token });

  const cancel = async ({ device_code: token }: Codes) =>
    expect(outcome(await app.ask('POST', '/revoke', { form: { token } }))).toBe('200');

  /** The codes of a new authorization in this state. */
  const inState = async (state: string): Promise<Codes> => {
    const codes = await start();
    const owner = await app.login(newAddress());
    if (/approved|redeemed/.test(state)) expect((await call('approve', codes, owner)).status).toBe(204);
    if (state === 'denied') expect((await call('deny', codes, owner)).status).toBe(204);
    if (/cancelled/.test(state)) await cancel(codes);
    if (state === 'redeemed') expect((await call('poll', codes, owner)).status).toBe(200);
    if (/expired/.test(state)) app.pass(600);
    if (state === 'swept') app.pass(3 * 3600);
    if (state === 'swept') await app.sweep();
    if (state !== 'unknown') return codes;
    const handle = { subject: Buffer.alloc(16, 'unknown'), value: app.ctx.clock() + 600_000 };
    return { device_code: mintHandle(app.ctx.keys, 'deviceCode', handle), user_code: 'ZZZZ-ZZZZ' };
  };

  describe.each(states)('%s', (state) => {
    test.each([...actions])(
      `${state} codes get the expected answer to %s, and to the poll after it`,
      async (action) => {
        const codes = await inState(state);
        const viewer = await app.login(newAddress());
        const expected =
          action === 'poll'
            ? pollOutcomes[state]
            : state === 'pending'
              ? pendingOutcomes[action]
              : '400 invalid_grant';
        expect(outcome(await call(action, codes, viewer))).toBe(expected!);
        if (state === 'pending') return;
        // A refused call changes nothing.
        const then = action === 'poll' && state === 'approved' ? '400 invalid_grant' : pollOutcomes[state];
        expect(outcome(await call('poll', codes, viewer))).toBe(then!);
      },
    );
  });

  test('cancelling an approval that was not redeemed stands in the log of the approver', async () => {
    const codes = await start();
    const owner = await app.login(newAddress());
    const { session_id } = (await call('verify', codes, owner)).body;
    await call('approve', codes, owner);
    await cancel(codes);
    await cancel(codes);
    const events = await loggedEvents(app, owner);
    expect(events.filter((event) => event.session_id === session_id)).toMatchObject([
      { type: 'session_revoked', detail: { reason: 'cancelled' } },
    ]);
  });

  test('cancelling a redeemed code ends its session, and repeats no tokens', async () => {
    const codes = await start();
    await call('approve', codes, await app.login(newAddress()));
    const headers = { 'Idempotency-Key': 'one' };
    const poll = () => app.ask('POST', '/token', { json: { device_code: codes.device_code }, headers });
    const { access_token: token } = (await poll()).body;
    expect(outcome(await app.ask('GET', '/me', { token }))).toBe('200');
    await cancel(codes);
    expect(outcome(await app.ask('GET', '/me', { token }))).toBe('401 invalid_token');
    expect(outcome(await poll())).toBe('400 invalid_grant');
  });

  test('of approvals, polls and cancellations that race, none leaves a session', async () => {
    for (let round = 0; round < 10; round++) {
      const codes = await start();
      const owner = await app.login(newAddress());
      const poll = () => app.ask('POST', '/token', { json: { device_code: codes.device_code } });
      const approval = call('approve', codes, owner);
      const cancelled = turns(round).then(() => cancel(codes));
      const answers = await Promise.all([approval, poll(), poll(), poll()]);
      await cancelled;
      expect(answers.map(({ status }) => status).every((status) => status < 500)).toBe(true);
      expect(outcome(await poll())).toBe('400 invalid_grant');
      const { sessions } = (await app.ask('GET', '/sessions', { token: owner.access_token })).body;
      expect(sessions.map(({ kind }: { kind: string }) => kind)).toEqual(['browser']);
    }
  });

  test('starting a device authorization returns every member of RFC 8628 section 3.2', async () => {
    const { status, body } = await app.ask('POST', '/device');
    expect(status).toBe(200);
    deviceAuthorization.strict().parse(body);
    expect(body).toMatchObject({ expires_in: 600, interval: 5 });
    expect(body.device_code).toMatch(/^lk_dc_/);
    expect(body.user_code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    expect(body.verification_uri).toBe('http://localhost:8787/device');
    expect(body.verification_uri_complete).toBe(`http://localhost:8787/device?user_code=${body.user_code}`);
  });

  test('verify shows the requesting client, its names unescaped and unverified, and changes nothing', async () => {
    const json = {
      client_id: 'cli',
      client_name: 'Latchkey <b>CLI</b>',
      device_name: 'büro',
      scope: 'email',
    };
    const started = await app.ask('POST', '/device', {
      json,
      peer: '198.51.100.7',
      headers: { 'User-Agent': 'latchkey/1.0' },
    });
    const viewer = await app.login(newAddress());
    const view = (peer: string) =>
      app.ask('POST', '/device/verify', {
        json: { user_code: started.body.user_code },
        token: viewer.access_token,
        peer,
      });
    for (const [peer, same] of [
      ['198.51.100.200', true],
      ['203.0.113.1', false],
    ] as const) {
      const { status, body } = await view(peer);
      expect(status).toBe(200);
      pendingDevice.strict().parse(body);
      expect(body).toMatchObject({
        user_code: started.body.user_code,
        client_name: 'Latchkey <b>CLI</b>',
        device_name: 'büro',
        ip_address: '198.51.100.7',
        user_agent: 'latchkey/1.0',
        same_network: same,
      });
      expect(body.expires_in).toBeGreaterThan(590);
      expect(body.expires_in).toBeLessThanOrEqual(600);
    }
    expect(outcome(await call('poll', started.body, viewer))).toBe('400 authorization_pending');
    expect(outcome(await call('approve', started.body, await app.login(newAddress())))).toBe('204');
  });

  test('a user code may be typed in another way, and an impossible one gets the same answer as an unknown one', async () => {
    const viewer = await app.login(newAddress());
    for (const action of ['verify', 'approve', 'deny'] as const) {
      const codes = await start();
      const typed = ` ${codes.user_code.toLowerCase().replace('-', ' ')}\t`;
      const answer = await call(action, { ...codes, user_code: typed }, viewer);
      expect(outcome(answer)).toBe(pendingOutcomes[action]);
      if (action === 'verify') expect(answer.body.user_code).toBe(codes.user_code);
      for (const user_code of [
        'BCDF-GHJ',
        'AAAA-AAAA',
        ' ',
        '\uff22\uff23\uff24\uff26-\uff27\uff28\uff2a\uff2b',
      ])
        expect(outcome(await call(action, { device_code: '', user_code }, viewer))).toBe('400 invalid_grant');
    }
  });

  test('of concurrent approvals and denials exactly one succeeds', async () => {
    const [ada, grace] = [await app.login(newAddress()), await app.login(newAddress())];
    for (let round = 0; round < 5; round++) {
      const codes = await start();
      const answers = await Promise.all(
        Array.from({ length: 32 }, (_, i) =>
          call(i % 2 === 0 ? 'approve' : 'deny', codes, i % 4 < 2 ? ada : grace),
        ),
      );
      expect(answers.filter(({ status }) => status === 204).length).toBe(1);
      expect(answers.filter((answer) => outcome(answer) === '400 invalid_grant').length).toBe(31);
      const approved = answers.findIndex(({ status }) => status === 204) % 2 === 0;
      expect(outcome(await call('poll', codes, ada))).toBe(approved ? '200' : '400 access_denied');
    }
  });

  test('the session of a device belongs to the user who approved it', async () => {
    const email = newAddress();
    const codes = await start();
    await call('approve', codes, await app.login(email));
    const { body } = await call('poll', codes, await app.login(newAddress()));
    expect((await app.ask('GET', '/me', { token: body.access_token })).body.email).toBe(email);
  });
});
