import { expect, test } from 'bun:test';
import {
  addPasskey,
  askForAddress,
  cookieByMail,
  disown,
  newAuthenticator,
  outcome,
  sameOrigin,
  subjects,
  verifyAddress,
} from '../../../../tests/support/account.ts';
import { onBothDatabases } from '../../../../tests/support/app.ts';
import { shared } from '../../../../tests/support/shared.ts';
import { setDisabled } from '../identity/account/account.ts';

let people = 0;
const someone = () => `person-${people++}@example.com`;

onBothDatabases('a disabled account', (open) => {
  const app = shared(() => open({ settings: { LATCHKEY_RATE_LIMITS: 'off' } }));

  const disable = (email: string) => setDisabled(app.ctx, email, true);
  const enable = (email: string) => setDisabled(app.ctx, email, false);
  const refresh = (refresh_token: string, key = 'none') =>
    app.ask('POST', '/refresh', { json: { refresh_token }, headers: { 'Idempotency-Key': key } });
  const approvedDevice = async (token: string) => {
    const { user_code, device_code } = (await app.ask('POST', '/device')).body;
    await app.ask('POST', '/device/approve', { json: { user_code }, token });
    return device_code as string;
  };
  const poll = (device_code: string, key = 'none') =>
    app.ask('POST', '/token', { json: { device_code }, headers: { 'Idempotency-Key': key } });

  test('a disabled account loses its access tokens at once and learns the reason only from a refresh', async () => {
    const email = someone();
    const [own, stranger] = [await app.login(email), await app.login(someone())];
    const device = await app.deviceLogin(own);
    await disable(email);
    for (const tokens of [own, device]) {
      expect(outcome(await app.ask('GET', '/me', { token: tokens.access_token }))).toBe('401 invalid_token');
      expect(outcome(await refresh(tokens.refresh_token))).toBe('403 account_disabled');
    }
    expect(outcome(await app.ask('GET', '/me', { token: stranger.access_token }))).toBe('200');
  });

  test('a disabled account loses its cookies at once', async () => {
    const email = someone();
    const cookie = await cookieByMail(app, email);
    expect(outcome(await app.ask('GET', '/me', { cookie, headers: sameOrigin }))).toBe('200');
    await disable(email);
    expect(outcome(await app.ask('GET', '/me', { cookie, headers: sameOrigin }))).toBe('401 invalid_token');
  });

  test('a disabled account gets tokens from no grant', async () => {
    const email = someone();
    const own = await app.login(email);
    const approved = await approvedDevice(own.access_token);
    const redeemed = await approvedDevice(own.access_token);
    expect(outcome(await poll(redeemed, 'key'))).toBe('200');
    const spent = await app.login(email);
    expect(outcome(await refresh(spent.refresh_token, 'key'))).toBe('200');
    const { request } = (await app.ask('POST', '/magic_link', { json: { email } })).body;
    const mail = (await app.mails()).find(({ to }) => to === email)!;
    await disable(email);

    expect(outcome(await poll(approved))).toBe('403 account_disabled');
    expect(outcome(await poll(redeemed, 'key'))).toBe('403 account_disabled');
    expect(outcome(await refresh(spent.refresh_token, 'key'))).toBe('403 account_disabled');
    const byLink = await app.ask('POST', '/magic_link/verify', { json: { token: mail.token } });
    expect(outcome(byLink)).toBe('403 account_disabled');
    const byCode = await app.ask('POST', '/magic_link/verify', { json: { request, code: mail.code } });
    expect(outcome(byCode)).toBe('403 account_disabled');
  });

  test('every operation that a disabled account had begun is refused, on every node', async () => {
    const beside = await open({ beside: app, settings: { LATCHKEY_RATE_LIMITS: 'off' } });
    const email = someone();
    const own = await app.login(email);
    const token = own.access_token;
    const authenticator = newAuthenticator(app);
    expect((await addPasskey(app, own, authenticator)).status).toBe(201);
    const { body: creation } = await app.ask('POST', '/passkey/register/challenge', { token });
    const { body: request } = await app.ask('POST', '/passkey/login/challenge');
    const approved = await approvedDevice(token);
    const { user_code } = (await app.ask('POST', '/device')).body;
    const change = await askForAddress(app, own, `new-${email}`);
    await disable(email);

    const assertion = authenticator.get(request);
    expect(outcome(await beside.ask('POST', '/passkey/login', { json: assertion }))).toBe(
      '403 account_disabled',
    );
    expect(outcome(await beside.ask('POST', '/token', { json: { device_code: approved } }))).toBe(
      '403 account_disabled',
    );
    expect(outcome(await verifyAddress(beside, change))).toBe('403 account_disabled');
    const attestation = newAuthenticator(app).create(creation);
    const requests = [
      beside.ask('POST', '/passkey/register', { json: attestation, token }),
      beside.ask('POST', '/device/approve', { json: { user_code }, token }),
      beside.ask('POST', '/device/verify', { json: { user_code }, token }),
      beside.ask('POST', '/me/email', { json: { email: someone() }, token }),
      beside.ask('DELETE', '/me', { token }),
      beside.ask('GET', '/sessions', { token }),
      beside.ask('PATCH', '/me', { json: { name: 'x' }, token }),
    ];
    expect(new Set((await Promise.all(requests)).map(outcome))).toEqual(new Set(['401 invalid_token']));
    expect(outcome(await disown(app, email, subjects.passkeyAdded))).toBe('200');
  });

  test('without proof of the address, a disabled account looks like one that does not exist', async () => {
    const email = someone();
    await app.login(email);
    await disable(email);
    const requests = [email, someone()].map((address) =>
      app.ask('POST', '/magic_link', { json: { email: address } }),
    );
    const answers = (await Promise.all(requests)).map(({ status, body }) => [
      status,
      { ...body, request: '' },
    ]);
    expect(answers[0]).toEqual(answers[1]!);
    expect(answers[0]?.[0]).toBe(202);
  });

  test('an enabled account can sign in again, but its earlier sessions stay ended', async () => {
    const email = someone();
    const before = await app.login(email);
    const approved = await approvedDevice(before.access_token);
    const id = (await app.ask('GET', '/me', { token: before.access_token })).body.id;
    expect(await disable(email)).toBe(true);
    expect(await disable(email)).toBe(false);
    expect(await enable(email)).toBe(true);
    expect(await enable(email)).toBe(false);

    expect(outcome(await app.ask('GET', '/me', { token: before.access_token }))).toBe('401 invalid_token');
    expect(outcome(await refresh(before.refresh_token))).toBe('400 invalid_grant');
    expect(outcome(await poll(approved))).toBe('400 invalid_grant');
    const after = await app.login(email);
    const me = await app.ask('GET', '/me', { token: after.access_token });
    expect([me.status, me.body.id]).toEqual([200, id]);
    expect(outcome(await refresh(after.refresh_token))).toBe('200');
  });
});
