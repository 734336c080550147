import { describe, expect, test } from 'bun:test';
import { newAddress, outcome } from '../../../../tests/support/account.ts';
import { type Ask, onBothDatabases, sharedNodes, type Tokens } from '../../../../tests/support/app.ts';

onBothDatabases('revoking sessions', (open, dialect) => {
  const { app, node } = sharedNodes(open, dialect);

  const expectActive = async (tokens: Tokens) => {
    expect(outcome(await node.ask('GET', '/me', { token: tokens.access_token }))).toBe('200');
    const refreshed = await node.ask('POST', '/refresh', { json: { refresh_token: tokens.refresh_token } });
    expect(outcome(refreshed)).toBe('200');
  };
  const expectEnded = async (tokens: Tokens) => {
    expect(outcome(await node.ask('GET', '/me', { token: tokens.access_token }))).toBe('401 invalid_token');
    const refreshed = await node.ask('POST', '/refresh', { json: { refresh_token: tokens.refresh_token } });
    expect(outcome(refreshed)).toBe('400 invalid_grant');
  };
  /** Two browser sessions and a device session of one user, and a session of another user. */
  const signInAll = async () => {
    const email = newAddress();
    const own = await app.login(email);
    const other = await app.login(email);
    return { own, other, device: await app.deviceLogin(own), stranger: await app.login(newAddress()) };
  };

  for (const [method, path] of [
    ['POST', '/revoke'],
    ['DELETE', '/logout'],
  ] as const) {
    describe(`${method} ${path}`, () => {
      const end = (tokens: Tokens, ask: Ask = {}, query = '') =>
        app.ask(method, path + query, { token: tokens.access_token, ...ask });

      test.each<[string, Ask]>([
        ['no body', {}],
        ['an empty object', { json: {} }],
        ['unknown members', { json: { everywhere: false, scopes: 'session' } }],
      ])('with %s, all sessions of the user are revoked and no others', async (_, ask) => {
        const { own, other, device, stranger } = await signInAll();
        const answer = await end(own, ask);
        expect([answer.status, answer.text]).toEqual([204, '']);
        for (const tokens of [own, other, device]) await expectEnded(tokens);
        await expectActive(stranger);
      });

      test.each<[string, Ask, string]>([
        ['the body', { json: { scope: 'session' } }, ''],
        ['the query', {}, '?scope=session'],
        ['both', { json: { scope: 'session' } }, '?scope=session'],
        ['the query and an empty body', { json: {} }, '?scope=session'],
      ])('with scope=session in %s, only the session that presented it is revoked', async (_, ask, query) => {
        const { own, other, device, stranger } = await signInAll();
        expect((await end(device, ask, query)).status).toBe(204);
        await expectEnded(device);
        for (const tokens of [own, other, stranger]) await expectActive(tokens);
      });

      test.each<[string, Ask, string]>([
        ['an unknown scope in the body', { json: { scope: 'all' } }, ''],
        ['an empty scope in the body', { json: { scope: '' } }, ''],
        ['a scope in another letter case', { json: { scope: 'Session' } }, ''],
        ['an unknown scope in the query', {}, '?scope=all'],
        ['an empty scope in the query', {}, '?scope='],
        ['a scope twice in the query', {}, '?scope=session&scope=session'],
        ['a scope twice in the body', { raw: '{"scope":"session","scope":"session"}' }, ''],
        ['a valid body and an invalid query', { json: { scope: 'session' } }, '?scope=all'],
        ['a valid query and an invalid body', { json: { scope: 'all' } }, '?scope=session'],
      ])('with %s, the request is refused and no session is revoked', async (_, ask, query) => {
        const { own, other } = await signInAll();
        const headers = { 'Content-Type': 'application/json' };
        const answer = await end(own, 'raw' in ask ? { ...ask, headers } : ask, query);
        expect(outcome(answer)).toBe('400 invalid_request');
        for (const tokens of [own, other]) await expectActive(tokens);
      });
    });
  }

  test('a token in a form is revoked with white space around it, and in JSON refused with a word about the form', async () => {
    const own = await app.login(newAddress());
    const json = { token: own.access_token };
    for (const [ask, expected] of [
      [{ json }, '401 invalid_token'],
      [{ json, token: own.access_token }, '400 invalid_request'],
    ] as const) {
      const answer = await app.ask('POST', '/revoke', ask);
      expect(outcome(answer)).toBe(expected);
      expect(answer.body.error_description).toContain('application/x-www-form-urlencoded');
    }
    await expectActive(own);
    const form = { token: ` ${own.access_token}\r\n` };
    expect(outcome(await app.ask('POST', '/revoke', { form }))).toBe('200');
    await expectEnded(own);
  });

  test('64 parallel sign-outs of one session all succeed or find it already ended', async () => {
    const own = await app.login(newAddress());
    const answers = await Promise.all(
      Array.from({ length: 64 }, () =>
        app.ask('DELETE', '/logout?scope=session', { token: own.access_token }),
      ),
    );
    expect(answers.filter(({ status }) => ![204, 401].includes(status))).toEqual([]);
    expect(answers.some(({ status }) => status === 204)).toBe(true);
    await expectEnded(own);
  });
});
