import { describe, expect, test } from 'bun:test';
import { newAddress, outcome } from '#support/account.ts';
import { type Ask, onBothDatabases, sharedNodes, type Tokens } from '#support/app.ts';

onBothDatabases('revoking sessions', (open, dialect) => {
  const { app, node } = sharedNodes(open, dialect);

  const requireThat = async (all: readonly Tokens[], state: 'active' | 'ended') => {
    const expected = state === 'active' ? ['200', '200'] : ['401 invalid_token', '400 invalid_grant'];
    for (const { access_token: token, refresh_token } of all) {
      const me = await node.ask('GET', '/me', { token });
      const refreshed = await node.ask('POST', '/refresh', { json: { refresh_token } });
      expect([outcome(me), outcome(refreshed)]).toEqual(expected as [string, string]);
    }
  };

  describe.each([
    ['POST', '/revoke'],
    ['DELETE', '/logout'],
  ])('%s %s', (method, path) => {
    const end = ({ access_token: token }: Tokens, ask: Ask = {}, query = '') =>
      app.ask(method, path + query, { token, ...ask });

    test.each<[string, Ask, string, 'all' | 'own']>([
      ['no body', {}, '', 'all'],
      ['an empty object', { json: {} }, '', 'all'],
      ['unknown members', { json: { everywhere: false, scopes: 'session' } }, '', 'all'],
      ['scope=session in the body', { json: { scope: 'session' } }, '', 'own'],
      ['scope=session in the query', {}, '?scope=session', 'own'],
      ['scope=session in both', { json: { scope: 'session' } }, '?scope=session', 'own'],
      ['scope=session in the query and an empty body', { json: {} }, '?scope=session', 'own'],
    ])('%s revokes all sessions of the user, or its own, and no others', async (_, ask, query, what) => {
      const email = newAddress();
      const others = [await app.login(email), await app.login(email)];
      const device = await app.deviceLogin(others[0]!);
      const stranger = await app.login(newAddress());
      const answer = await end(device, ask, query);
      expect([answer.status, answer.text]).toEqual([204, '']);
      await requireThat([device], 'ended');
      await requireThat(others, what === 'all' ? 'ended' : 'active');
      await requireThat([stranger], 'active');
    });

    test('a request with a scope that is unknown anywhere or appears twice is refused, and revokes nothing', async () => {
      const own = await app.login(newAddress());
      const headers = { 'Content-Type': 'application/json' };
      const inBody = (scope: string): [Ask] => [{ json: { scope } }];
      const wrong: [Ask, string?][] = [
        ...['all', '', 'Session'].map(inBody),
        ...['all', '', 'session&scope=session'].map((scope): [Ask, string] => [{}, `?scope=${scope}`]),
        [{ raw: '{"scope":"session","scope":"session"}', headers }],
        [{ json: { scope: 'session' } }, '?scope=all'],
        [{ json: { scope: 'all' } }, '?scope=session'],
      ];
      for (const [ask, query] of wrong)
        expect([ask, query, outcome(await end(own, ask, query))]).toEqual([
          ask,
          query,
          '400 invalid_request',
        ]);
      await requireThat([own], 'active');
    });
  });

  test('a token in a form is revoked with white space around it, and in JSON refused with a word about the form', async () => {
    const own = await app.login(newAddress());
    const { access_token: token } = own;
    for (const [ask, expected] of [
      [{}, '401 invalid_token'],
      [{ token }, '400 invalid_request'],
    ] as const) {
      const answer = await app.ask('POST', '/revoke', { json: { token }, ...ask });
      expect(outcome(answer)).toBe(expected);
      expect(answer.body.error_description).toContain('application/x-www-form-urlencoded');
    }
    expect(outcome(await app.ask('GET', '/me', { token }))).toBe('200');
    expect(outcome(await app.ask('POST', '/revoke', { form: { token: ` ${token}\r\n` } }))).toBe('200');
    await requireThat([own], 'ended');
  });
});
