// What random sequences of commands (tests/invariants/properties.test.ts) do not ask of a disabled account.

import { expect, test } from 'bun:test';
import {
  cookieByMail,
  disown,
  newAddress,
  outcome,
  sameOrigin,
  subjects,
  throughPasskey,
} from '#support/account.ts';
import { onBothDatabases } from '#support/app.ts';
import { setDisabled } from '../identity/account/account.ts';

onBothDatabases('a disabled account', (open) => {
  test('loses its cookies and what it had begun at once, on every node, but not the links of its notices', async () => {
    const app = await open();
    const node = await open({ beside: app });
    const email = newAddress();
    const cookie = await cookieByMail(app, email);
    const { login } = await throughPasskey(app, await app.login(email));
    const { user_code } = (await app.ask('POST', '/device')).body;
    const me = (on = app) => on.ask('GET', '/me', { cookie, headers: sameOrigin });
    expect(outcome(await me())).toBe('200');
    await setDisabled(app.ctx, email, true);
    for (const answer of [
      await me(),
      await me(node),
      await node.ask('POST', '/device/approve', { json: { user_code }, token: login.access_token }),
    ])
      expect(outcome(answer)).toBe('401 invalid_token');
    expect(outcome(await disown(app, email, subjects.passkeyAdded))).toBe('200');
  });
});
