// What random sequences of commands (tests/invariants/properties.test.ts) do not ask of a disabled account.

import { expect, test } from 'bun:test';
import {
  addPasskey,
  askForAddress,
  cookieByMail,
  disown,
  newAddress,
  newAuthenticator,
  outcome,
  sameOrigin,
  subjects,
  verifyAddress,
} from '../../../../tests/support/account.ts';
import { onBothDatabases } from '../../../../tests/support/app.ts';
import { shared } from '../../../../tests/support/shared.ts';
import { setDisabled } from '../identity/account/account.ts';

onBothDatabases('a disabled account', (open) => {
  const app = shared(open);

  const disable = (email: string) => setDisabled(app.ctx, email, true);

  test('a disabled account loses its cookies at once', async () => {
    const email = newAddress();
    const cookie = await cookieByMail(app, email);
    expect(outcome(await app.ask('GET', '/me', { cookie, headers: sameOrigin }))).toBe('200');
    await disable(email);
    expect(outcome(await app.ask('GET', '/me', { cookie, headers: sameOrigin }))).toBe('401 invalid_token');
  });

  test('every operation that a disabled account had begun is refused, on every node', async () => {
    const beside = await open({ beside: app });
    const email = newAddress();
    const own = await app.login(email);
    const token = own.access_token;
    const authenticator = newAuthenticator(app);
    expect((await addPasskey(app, own, authenticator)).status).toBe(201);
    const { body: creation } = await app.ask('POST', '/passkey/register/challenge', { token });
    const { body: request } = await app.ask('POST', '/passkey/login/challenge');
    const { user_code } = (await app.ask('POST', '/device')).body;
    const change = await askForAddress(app, own, `new-${email}`);
    await disable(email);

    const assertion = authenticator.get(request);
    expect(outcome(await beside.ask('POST', '/passkey/login', { json: assertion }))).toBe(
      '403 account_disabled',
    );
    expect(outcome(await verifyAddress(beside, change))).toBe('403 account_disabled');
    const attestation = newAuthenticator(app).create(creation);
    const requests = [
      beside.ask('POST', '/passkey/register', { json: attestation, token }),
      beside.ask('POST', '/device/approve', { json: { user_code }, token }),
      beside.ask('POST', '/device/verify', { json: { user_code }, token }),
      beside.ask('POST', '/me/email', { json: { email: newAddress() }, token }),
      beside.ask('DELETE', '/me', { token }),
      beside.ask('GET', '/sessions', { token }),
      beside.ask('PATCH', '/me', { json: { name: 'x' }, token }),
    ];
    expect(new Set((await Promise.all(requests)).map(outcome))).toEqual(new Set(['401 invalid_token']));
    expect(outcome(await disown(app, email, subjects.passkeyAdded))).toBe('200');
  });
});
