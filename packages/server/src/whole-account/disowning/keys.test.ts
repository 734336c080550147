import { expect, test } from 'bun:test';
import {
  addPasskey,
  askForAddress,
  disown,
  mailsTo,
  newAuthenticator,
  outcome,
  passkeyLogin,
  signInByMail,
  subjects,
  tokenIn,
  verifyAddress,
} from '../../../../../tests/support/account.ts';
import { onBothDatabases, type TestApp, type Tokens } from '../../../../../tests/support/app.ts';
import { createdKey } from '../../../../../tests/support/keys.ts';

const ada = 'ada@example.com';

/** Signs in by mail from another network and browser. */
const signInElsewhere = async (app: TestApp): Promise<Tokens> => {
  const elsewhere = { peer: '198.51.100.7', headers: { 'User-Agent': 'Thief/1.0' } };
  return (await signInByMail(app, ada, elsewhere)).body;
};

const use = async (app: TestApp, { key }: { readonly key: string }) =>
  outcome(await app.ask('GET', '/me', { token: key }));

onBothDatabases('disowning the session that created a key', (open) => {
  test('ends its keys and those of the sessions that came from it, and no others', async () => {
    const app = await open();
    const own = await app.login(ada);
    const ownKey = await createdKey(app, own, { name: 'mine' });
    const thief = await signInElsewhere(app);
    const authenticator = newAuthenticator(app);
    await addPasskey(app, thief, authenticator);
    const byPasskey = (await passkeyLogin(app, authenticator)).body as Tokens;
    const keys = [
      await createdKey(app, thief, { name: 'theirs' }),
      await createdKey(app, byPasskey, { name: 'theirs too', scope: 'profile' }),
    ];
    const removed = await createdKey(app, thief, { name: 'removed before' });
    await app.ask('DELETE', `/keys/${removed.id}`, { token: thief.access_token });

    const { body } = await disown(app, ada, subjects.newBrowser);
    expect(body).toMatchObject({ sessions_ended: 2, devices_ended: 0, device_names: [] });
    expect(body.keys_removed.toSorted()).toEqual(['theirs', 'theirs too']);
    for (const key of keys) expect(await use(app, key)).toBe('401 invalid_token');
    expect(await use(app, ownKey)).toBe('200');
    const [mail] = await mailsTo(app, ada, subjects.undone);
    expect(mail?.text).toContain('theirs too');
    expect(mail?.text).not.toContain('removed before');
    expect((await disown(app, ada, subjects.newBrowser)).body).toEqual(body);
    const { events } = (await app.ask('GET', '/events', { token: own.access_token })).body;
    const { detail } = events.find(({ type }: { type: string }) => type === 'session_disowned');
    expect(detail).toMatchObject({ sessions: '2', keys: '2' });
    await app.close();
  });

  test('works by the notice of the key, too; a key that is removed stays removed', async () => {
    const app = await open();
    const own = await app.login(ada);
    const thief = await signInElsewhere(app);
    const key = await createdKey(app, thief, { name: 'theirs' });
    const { status, body } = await disown(app, ada, subjects.keyAdded);
    expect([status, body.kind, body.sessions_ended, body.keys_removed]).toEqual([
      200,
      'key_added',
      1,
      ['theirs'],
    ]);
    expect(await use(app, key)).toBe('401 invalid_token');
    expect(outcome(await app.ask('GET', '/me', { token: thief.access_token }))).toBe('401 invalid_token');
    expect(outcome(await app.ask('GET', '/me', { token: own.access_token }))).toBe('200');

    const mine = await createdKey(app, own, { name: 'mine' });
    const other = await signInElsewhere(app);
    await app.ask('DELETE', `/keys/${mine.id}`, { token: other.access_token });
    const removal = (await disown(app, ada, subjects.keyRemoved)).body;
    expect([removal.kind, removal.sessions_ended, removal.keys_removed]).toEqual(['key_removed', 1, []]);
    expect(outcome(await app.ask('GET', '/me', { token: other.access_token }))).toBe('401 invalid_token');
    expect(outcome(await app.ask('GET', '/me', { token: own.access_token }))).toBe('200');
    await app.close();
  });

  test('ends every key of the account where it restores the address', async () => {
    const app = await open();
    const own = await app.login(ada);
    const ownKey = await createdKey(app, own, { name: 'mine' });
    const thief = await signInElsewhere(app);
    await createdKey(app, thief, { name: 'theirs' });
    await verifyAddress(app, await askForAddress(app, thief, 'thief@new.example'));
    const { body } = await disown(app, ada, subjects.newBrowser);
    expect(body).toMatchObject({ email: ada, sessions_ended: 2 });
    expect(body.keys_removed.toSorted()).toEqual(['mine', 'theirs']);
    expect(await use(app, ownKey)).toBe('401 invalid_token');
    await app.close();
  });

  test('leaves no live key behind, whichever of the two is first', async () => {
    const app = await open();
    await app.login(ada);
    for (let round = 0; round < 4; round++) {
      const thief = await signInElsewhere(app);
      const [notice] = await mailsTo(app, ada, subjects.newBrowser);
      const json = { name: 'theirs', scope: '*', expires_in: 86_400 };
      const [made, disowned] = await Promise.all([
        app.ask('POST', '/keys', { token: thief.access_token, json }),
        app.ask('POST', '/notices/disown', { json: { token: tokenIn(notice) } }),
      ]);
      expect(disowned.status).toBe(200);
      expect(['201', '401 invalid_token']).toContain(outcome(made));
      if (made.status === 201) expect(await use(app, made.body)).toBe('401 invalid_token');
    }
    await app.close();
  });
});
