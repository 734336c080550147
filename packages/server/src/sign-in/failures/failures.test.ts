// Failed sign-ins leave a trace in the log of the account, which strangers can neither flood nor learn anything from.

import { expect, mock, test } from 'bun:test';
import { addPasskey, newAuthenticator, outcome, postSignIn, requestOptions } from '#support/account.ts';
import { linkFor } from '#support/account-scene.ts';
import { type Answer, onBothDatabases, openApp, type TestApp, type Tokens } from '#support/app.ts';
import type { AssertionForgery } from '#support/authenticator.ts';
import { expectIntact, type LoggedEvent, loggedEvents } from '#support/security-log.ts';
import { fresh } from '#support/shared.ts';
import { turns } from '#support/until.ts';
import { noClient } from '../../platform/values/client-address.ts';
import { maxFailureEventsPerDay, maxFailuresCounted } from '../../security-log/events/events.ts';
import { maxWaiting, recordFailure, writeFailedSignIns } from './failures.ts';

async function failuresOf(t: TestApp, tokens: Tokens): Promise<LoggedEvent[]> {
  await writeFailedSignIns(t.ctx);
  return loggedEvents(t, tokens, 'sign_in_failed');
}

const detailsOf = async (t: TestApp, tokens: Tokens) =>
  (await failuresOf(t, tokens)).map(({ detail }) => detail);

const enterCode = (t: TestApp, request: string, peer = '192.0.2.7'): Promise<Answer> =>
  t.ask('POST', '/magic_link/verify', { json: { request, code: '0000-0000' }, peer });

const enterUserCode = (t: TestApp, { access_token: token }: Tokens, peer: string): Promise<Answer> =>
  t.ask('POST', '/device/verify', { token, json: { user_code: 'BBBB-BBBB' }, peer });

async function counted(t: TestApp): Promise<string[]> {
  const text = await t.ctx.metrics.registry.metrics();
  return [...text.matchAll(/^latchkey_sign_in_failures_total(.+ [1-9]\d*)$/gm)].map(([, counts]) => counts!);
}

onBothDatabases('failed sign-ins', (open) => {
  const t = fresh(open);

  test('wrong email codes are one event by network, which grows for an hour', async () => {
    const ada = await t.login();
    const { request } = await linkFor(t, 'ada@example.com');
    for (const peer of ['192.0.2.7', '192.0.2.200', '198.51.100.1', '2001:db8::1']) {
      expect((await enterCode(t, request, peer)).status).toBe(400);
    }
    const entry = (network: string, count: number) => ({ method: 'email_code', network, count });
    expect(await detailsOf(t, ada)).toEqual([
      entry('2001:db8::/64', 1),
      entry('198.51.100.0/24', 1),
      entry('192.0.2.0/24', 2),
    ]);
    // Also when the code has no attempts left.
    for (let n = 0; n < 3; n++) await enterCode(t, request);
    expect((await detailsOf(t, ada)).at(-1)).toEqual(entry('192.0.2.0/24', 5));
    // No notice: one mail for each request of a code.
    expect(await t.mails()).toHaveLength(2);
    t.pass(3601);
    await enterCode(t, (await linkFor(t, 'ada@example.com')).request);
    expect((await detailsOf(t, ada))[0]).toEqual(entry('192.0.2.0/24', 1));
    expect((await failuresOf(t, ada)).at(-1)!.ip_address).toBe('192.0.2.7');
    await expectIntact(t);
  });

  test('a refused passkey, or user code at any endpoint, is an event of its account; an unknown passkey is only counted', async () => {
    const ada = await t.login();
    const eve = await t.login('eve@example.com');
    const authenticator = newAuthenticator(t);
    await addPasskey(t, ada, authenticator);
    for (const [step, user_code] of [
      ['verify', 'BBBB-BBBB'],
      ['approve', 'BBBB-BBBB'],
      ['deny', 'not a code'],
    ])
      expect(
        outcome(await t.ask('POST', `/device/${step}`, { token: ada.access_token, json: { user_code } })),
      ).toBe('400 invalid_grant');
    const assertion = async (forgery?: AssertionForgery) =>
      authenticator.get(await requestOptions(t), forgery);
    const good = await assertion();
    for (const [json, expected] of [
      [await assertion({ signature: new Uint8Array(70) }), '400 invalid_grant'],
      [good, '200'],
      [good, '400 invalid_grant'],
      [await assertion({ id: 'AAAA' }), '400 unknown_credential'],
      // Neither answers a challenge that we issued.
      [await assertion({ clientData: { challenge: 'AAAA' } }), '400 invalid_grant'],
      [{ ...good, response: { ...good.response, clientDataJSON: 'AAAA' } }, '400 invalid_grant'],
    ] as const)
      expect(outcome(await postSignIn(t, json))).toBe(expected);

    expect((await detailsOf(t, ada)).toReversed()).toEqual([
      { method: 'device_code', network: '192.0.2.0/24', count: 3 },
      { method: 'passkey', network: '192.0.2.0/24', count: 4 },
    ]);
    expect(await failuresOf(t, eve)).toEqual([]);
    const ofPasskeys = ['client_data', 'foreign_challenge', 'replay', 'unknown_credential', 'signature'];
    expect(await counted(t)).toEqual([
      '{method="device_code",reason="wrong_code"} 3',
      ...ofPasskeys.map((reason) => `{method="passkey",reason="${reason}"} 1`),
    ]);
  });

  test('a wrong code for an address without an account is answered alike, counted, and leaves nothing behind', async () => {
    const ada = await t.login();
    const answers = [];
    for (const email of ['ada@example.com', 'nobody@example.com']) {
      const { request } = await linkFor(t, email);
      const before = t.statements.length;
      const { status, body } = await enterCode(t, request);
      const { request_id, ...rest } = body;
      // What runs before the response must not depend on the account, since its time would tell.
      answers.push({ status, rest, statements: t.statements.slice(before) });
    }
    expect(answers[0]).toEqual(answers[1]!);
    expect(await failuresOf(t, ada)).toHaveLength(1);
    expect(await counted(t)).toEqual(['{method="email_code",reason="wrong_code"} 2']);
    const rows = await t.ctx.db.read.run<{ n: number }>('SELECT COUNT(*) AS n FROM users', []);
    expect(Number(rows[0]!.n)).toBe(1);
  });

  test('parallel failures are all counted, on any node', async () => {
    const other = await open({ beside: t });
    const ada = await t.login();
    const networks = ['192.0.2.7', '198.51.100.7'];
    await Promise.all(
      Array.from({ length: 8 }, (_, n) => enterUserCode(n % 2 ? t : other, ada, networks[(n >> 1) % 2]!)),
    );
    await writeFailedSignIns(other.ctx);
    expect((await detailsOf(t, ada)).map(({ count }) => count)).toEqual([4, 4]);
    await expectIntact(t);
  });

  test('an account gets 20 events a day, each grows up to its maximum count, and what is not recorded takes no lock on its log', async () => {
    const t = await open();
    // The events of one attack then stay within a day (UTC).
    t.pass(86_400 - ((t.ctx.clock() / 1000) % 86_400) + 1);
    const ada = await t.login();
    for (let n = 0; n <= maxFailureEventsPerDay; n++) {
      await enterUserCode(t, ada, `10.0.${n}.1`);
      await writeFailedSignIns(t.ctx);
    }
    expect(await failuresOf(t, ada)).toHaveLength(maxFailureEventsPerDay);
    const before = t.statements.length;
    await enterUserCode(t, ada, '10.1.0.1');
    await writeFailedSignIns(t.ctx);
    const statements = t.statements.slice(before).join('\n');
    expect(statements).toContain('"once" in');
    expect(statements).not.toMatch(/for (no key )?update|(update|insert into) "event/);
    await enterUserCode(t, ada, '10.0.19.1');
    expect((await detailsOf(t, ada))[0]).toMatchObject({ count: 2 });
    t.pass(86_400);
    const next = await t.login();
    for (let n = 0; n <= maxFailuresCounted; n++) await enterUserCode(t, next, '10.1.0.1');
    const details = await detailsOf(t, next);
    expect(details).toHaveLength(maxFailureEventsPerDay + 1);
    expect(details[0]).toMatchObject({ count: maxFailuresCounted });
    await expectIntact(t);
  });
});

test('no more failures wait than there may, however long the database takes', async () => {
  const { ctx } = await openApp('sqlite');
  const { promise: found, resolve: answer } = Promise.withResolvers<undefined>();
  const findUserId = mock(() => found);
  for (const round of [1, 2]) {
    for (let n = 0; n < maxWaiting; n++)
      recordFailure(ctx, 'email_code', noClient, { by: `${round} ${n}`, findUserId });
    void writeFailedSignIns(ctx);
    await turns(1);
  }
  answer(undefined);
  await writeFailedSignIns(ctx);
  // The one that was being written.
  expect(findUserId).toHaveBeenCalledTimes(maxWaiting + 1);
});
