import { beforeEach, expect, test } from 'bun:test';
import { pendingDevice } from '@latchkey/contract/device';
import { isLive, newAddress, outcome } from '#support/account.ts';
import { onBothDatabases, type Tokens } from '#support/app.ts';
import { cancelDevice, type DeviceCodes, decideDevice, pollDevice, startDevice } from '#support/devices.ts';
import { loggedEvents } from '#support/security-log.ts';
import { shared } from '#support/shared.ts';
import { turns } from '#support/until.ts';
import { mintHandle } from '../../platform/crypto/handle.ts';

onBothDatabases('device authorization', (open) => {
  const app = shared(open);
  let stranger: Tokens;
  // Tests pass time.
  beforeEach(async () => {
    stranger = await app.login('stranger@example.com');
  });
  const newUser = () => app.login(newAddress());
  const sessionIdOf = async (codes: DeviceCodes, viewer = stranger): Promise<string> =>
    (await decideDevice(app, 'verify', codes, viewer)).body.session_id;
  const revoke = async (id: string, { access_token: token }: Tokens) =>
    outcome(await app.ask('DELETE', `/sessions/${id}`, { token }));
  const sessionsOf = async ({ access_token: token }: Tokens): Promise<string[]> =>
    (await app.ask('GET', '/sessions', { token })).body.sessions.map(({ id }: { id: string }) => id);

  // tests/invariants/properties.test.ts has the other states.
  test('a code that has expired, swept or not, is unknown to an approver, and expired to its device; one that was never issued is unknown', async () => {
    const codes = await startDevice(app);
    for (const seconds of [600, 2 * 3600]) {
      app.pass(seconds);
      await app.sweep();
      const viewer = await newUser();
      for (const decision of ['verify', 'approve', 'deny'] as const)
        expect(outcome(await decideDevice(app, decision, codes, viewer))).toBe('400 invalid_grant');
      expect(outcome(await pollDevice(app, codes))).toBe('400 expired_token');
    }
    const handle = { subject: Buffer.alloc(16, 'unknown'), value: app.ctx.clock() + 600_000 };
    const device_code = mintHandle(app.ctx.keys, 'deviceCode', handle);
    expect(outcome(await pollDevice(app, { device_code }))).toBe('400 invalid_grant');
  });

  test('a start has every member of RFC 8628 section 3.2, and verify shows the client, its names unescaped and unverified, however the user code is typed, and changes nothing', async () => {
    const names = { client_name: 'Latchkey <b>CLI</b>', device_name: 'büro' };
    const client = { peer: '198.51.100.7', headers: { 'User-Agent': 'latchkey/1.0' } };
    const json = { client_id: 'cli', scope: 'email', confirmation: true, ...names };
    const { status, body: started } = await app.ask('POST', '/device', { json, ...client });
    expect(status).toBe(200);
    const verification_uri = 'http://localhost:8787/device';
    expect(started).toEqual({
      device_code: expect.stringMatching(/^lk_dc_/),
      user_code: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
      verification_uri,
      verification_uri_complete: `${verification_uri}?user_code=${started.user_code}`,
      expires_in: 600,
      interval: 5,
    });
    for (const [peer, same_network] of [
      ['198.51.100.200', true],
      ['203.0.113.1', false],
    ] as const) {
      const { user_code } = started;
      const typed = { user_code: ` ${user_code.toLowerCase().replace('-', ' ')}\t` };
      const { body } = await decideDevice(app, 'verify', typed, stranger, { peer });
      pendingDevice.strict().parse(body);
      const seen = { ip_address: client.peer, user_agent: 'latchkey/1.0', same_network };
      expect(body).toMatchObject({ user_code, confirmation: 'none', ...names, ...seen });
      expect(body.expires_in).toBeWithin(590, 601);
    }
    const { body: nameless } = await app.ask('POST', '/device', { json: { client_id: 'other-cli' } });
    expect((await decideDevice(app, 'verify', nameless, stranger)).body.client_name).toBe('other-cli');
    expect(outcome(await pollDevice(app, started))).toBe('400 authorization_pending');
    // From another network, too, there is nothing to confirm unless LATCHKEY_DEVICE_LOGIN says so.
    expect(outcome(await decideDevice(app, 'approve', started, stranger))).toBe('204');
  });

  // A device that cancels: tests/invariants/properties.test.ts.
  test('verify names the session that the device will get; its approver alone can take the approval back, or end the session, with one event, and no tokens are repeated', async () => {
    const ada = await newUser();
    for (const isRedeemed of [false, true]) {
      const codes = await startDevice(app);
      const id = await sessionIdOf(codes);
      expect([id, await sessionIdOf(codes, ada)]).toEqual([expect.stringMatching(/^ses_/), id]);
      for (const user of [ada, stranger]) expect(await revoke(id, user)).toBe('404 not_found');
      await decideDevice(app, 'approve', codes, ada);
      const poll = () => pollDevice(app, codes, { 'Idempotency-Key': 'one' });
      const polled = isRedeemed ? await poll() : undefined;
      expect((await sessionsOf(ada)).includes(id)).toBe(isRedeemed);
      expect(await revoke(id, stranger)).toBe('404 not_found');
      if (polled) expect(await isLive(app, polled.body)).toBe(true);
      expect([await revoke(id, ada), await revoke(id, ada)]).toEqual(['204', '404 not_found']);
      if (polled) expect(await isLive(app, polled.body)).toBe(false);
      expect(outcome(await poll())).toBe(polled ? '400 invalid_grant' : '400 access_denied');
      expect(outcome(await decideDevice(app, 'approve', codes, ada))).toBe('400 invalid_grant');
      const events = (await loggedEvents(app, ada)).filter(({ session_id }) => session_id === id);
      const end = { type: 'session_revoked', detail: { reason: polled ? expect.any(String) : 'withdrawn' } };
      expect(events).toMatchObject(polled ? [end, { type: 'login' }] : [end]);
    }
  });

  // tests/invariants/locks.test.ts races the other pairs.
  test('a device that cancels while it is approved and polls never keeps a session', async () => {
    for (let round = 0; round < 10; round++) {
      const [codes, owner] = [await startDevice(app), await newUser()];
      const answers = [1, 2, 3].map(() => pollDevice(app, codes));
      answers.push(decideDevice(app, 'approve', codes, owner));
      await turns(round);
      await cancelDevice(app, codes);
      for (const { status } of await Promise.all(answers)) expect(status).toBeLessThan(500);
      expect(outcome(await pollDevice(app, codes))).toBe('400 invalid_grant');
      expect(await sessionsOf(owner)).toHaveLength(1);
    }
  });
});
