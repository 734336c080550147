import { expect, test } from 'bun:test';
import { newAddress, outcome } from '#support/account.ts';
import { onBothDatabases, type TestApp, type Tokens } from '#support/app.ts';
import fc from '#support/fc.ts';
import {
  agentsUri,
  copySession,
  exchange,
  introspected,
  refreshRun,
  runScene,
  ticketsUri,
} from '#support/runs.ts';
import { declareService } from '#support/services.ts';
import { turns } from '#support/until.ts';
import { revokeService } from '../ending.ts';

onBothDatabases('runs, whatever else happens', (open, dialect) => {
  const { app, node, agents, tickets, run, facts, idFor } = runScene(open, dialect);

  /** Makes runs at every depth in the moment in which something ends, and returns the tokens that were given out. */
  async function makeWhile(login: Tokens, by: string, end: () => Promise<unknown>): Promise<string[]> {
    const wants = { by, scope: 'profile' };
    const first = await run(login.access_token, wants);
    const second = await run(first.access_token, { by });
    const parents = [login.access_token, first.access_token, second.access_token];
    const made: string[] = [];
    const making = Array.from({ length: 12 }, async (_, n) => {
      await turns(n * 4);
      const token = parents[n % 3]!;
      const answer = await exchange(n % 2 ? app : node, token, wants);
      if (answer.status === 200) made.push(answer.body.access_token);
      else expect(['400 invalid_request', '401 invalid_client']).toContain(outcome(answer));
    });
    await Promise.all([turns(20).then(end), ...making]);
    return [first.access_token, second.access_token, ...made];
  }

  // That nothing survives signing out everywhere or disabling holds tests/invariants/locks.test.ts.
  const ends: Readonly<Record<string, (login: Tokens, service: string) => Promise<unknown>>> = {
    'signing out': ({ access_token: token }) => app.ask('DELETE', '/logout?scope=session', { token }),
    'revoking the service': (_, service) => revokeService(app.ctx, service),
  };
  for (const [what, end] of Object.entries(ends)) {
    test(`${what} leaves no run behind that was being made at that moment`, async () => {
      for (let round = 0; round < 4; round++) {
        const login = await app.login(newAddress());
        const own = await declareService(app.ctx, { name: 'Own', rights: ['delegate'] });
        const tokens = await makeWhile(login, own.authorization, () => end(login, own.id));
        expect(tokens.length).toBeGreaterThan(1);
        for (const token of tokens) expect(await facts(token)).toEqual({ active: false });
      }
    });
  }

  test('thousands of runs end with their login in one write', async () => {
    const login = await app.login(newAddress());
    const { access_token } = await run(login.access_token, { scope: 'profile' });
    const id = await idFor(access_token);
    await copySession(app, id, 10_000);
    const before = app.statements.length;
    await app.ask('DELETE', '/logout?scope=session', { token: login.access_token });
    const writes = app.statements
      .slice(before)
      .filter((text) => text.includes('"sessions"') && /^update/i.test(text));
    expect(writes).toHaveLength(1);
    expect(await facts(access_token)).toEqual({ active: false });
  });

  test('no run at any depth is accepted after the request that ends its login, on any node, under load', async () => {
    const tokens = [(await app.login(newAddress())).access_token];
    // Three within each: 3, 9 and 27.
    for (let n = 0; n < 39; n++)
      tokens.push((await run(tokens[Math.floor(n / 3)], { scope: 'profile' })).access_token);
    const accepted = async (at: TestApp) => {
      const answers = await Promise.all(tokens.map((token) => at.ask('GET', '/me', { token })));
      return answers.filter(({ status }) => status === 200).length;
    };
    expect(await accepted(node)).toBe(40);
    let ended = false;
    const load = [app, node].map(async (at) => {
      for (; !ended; await turns(1)) await accepted(at);
    });
    try {
      await app.ask('DELETE', '/logout?scope=session', { token: tokens[0]! });
      expect([await accepted(node), await accepted(app)]).toEqual([0, 0]);
    } finally {
      ended = true;
      await Promise.all(load);
    }
  });

  test('no chain of exchanges ever allows more than its beginning, or lasts longer', async () => {
    const names = ['profile', 'email', 'organizations', 'tickets:read'];
    const details = [{ type: 'a' }, { type: 'b', of: [1] }, { type: 'b', of: [2] }];
    const step = fc.record(
      {
        by: fc.constantFrom(undefined, 'agents', 'tickets'),
        scope: fc.subarray([...names, '*'], { minLength: 1 }),
        resource: fc.constantFrom(ticketsUri, agentsUri),
        authorization_details: fc.subarray(details),
        expires_in: fc.constantFrom('60', '900', '3600'),
        refresh: fc.boolean(),
      },
      { requiredKeys: ['by', 'refresh'] },
    );
    const login = await app.login(newAddress());
    const services = { agents, tickets };
    const inspect = async (token: string) => {
      const seen = await Promise.all(
        [agents, tickets].map(({ authorization }) => introspected(app, token, authorization)),
      );
      return seen.find(({ active }) => active);
    };
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 5 }), async (steps) => {
        let token = login.access_token;
        let outer = await inspect(token);
        for (const { by, refresh, scope, ...wants } of steps) {
          const authorization = by && services[by].authorization;
          const answer = await exchange(app, token, {
            ...(authorization === undefined ? {} : { by: authorization }),
            ...(scope === undefined ? {} : { scope: scope.join(' ') }),
            ...wants,
          });
          if (answer.status !== 200) continue;
          token = answer.body.access_token;
          if (refresh && answer.body.refresh_token) {
            const refreshed = await refreshRun(app, answer.body.refresh_token, authorization);
            expect(refreshed.status).toBe(200);
            token = refreshed.body.access_token;
          }
          const inner = await inspect(token);
          expect(inner).toMatchObject({ active: true, session_kind: 'run' });
          const allowed: string[] = outer.scope.split(' ');
          for (const name of inner.scope.split(' ')) {
            expect(name).not.toBe('*');
            expect(allowed.includes('*') || allowed.includes(name)).toBe(true);
          }
          if (outer.authorization_details?.length > 0) {
            expect(inner.authorization_details.length).toBeGreaterThan(0);
            for (const detail of inner.authorization_details)
              expect(outer.authorization_details).toContainEqual(detail);
          }
          if (outer.aud !== undefined && inner.aud !== outer.aud)
            expect([by, outer.aud, inner.aud]).toEqual(['agents', agentsUri, ticketsUri]);
          if (by === undefined) {
            expect(inner.exp).toBeLessThanOrEqual(outer.exp);
            expect(inner.act).toEqual(outer.act);
          } else expect(inner.act.sub).toBe(services[by].id);
          expect(inner.within.length).toBeLessThanOrEqual(3);
          outer = inner;
        }
      }),
      { numRuns: 40 },
    );
  });
});
