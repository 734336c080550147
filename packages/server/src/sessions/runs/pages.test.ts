import { describe, expect, test } from 'bun:test';
import { cookieByMail, newAddress, outcome, sameOrigin } from '#support/account.ts';
import { onBothDatabases, type Tokens } from '#support/app.ts';
import { agentsUri, exchange, refreshRun, runScene, ticketsUri } from '#support/runs.ts';

onBothDatabases('runs of pages', (open, dialect) => {
  const { app, node, agents, tickets, run, idFor, facts: factsFor } = runScene(open, dialect);
  const facts = (token: string, service = agents) => factsFor(token, service);
  const browserLogin = (email: string, cookie?: string) => cookieByMail(app, email, cookie);

  describe('the session cookie', () => {
    test('stands for the subject token on pages of the service, and there only', async () => {
      const cookie = await browserLogin(newAddress());
      const wants = { scope: 'profile', resource: agentsUri };
      const made = await run(undefined, { cookie, headers: sameOrigin, ...wants });
      expect(made).not.toHaveProperty('refresh_token');
      expect(await facts(made.access_token)).toMatchObject({ active: true, aud: agentsUri });
      const refusals = [
        [{ cookie }, '403 origin_not_allowed'],
        [{ cookie, headers: { Origin: 'https://evil.example' } }, '403 origin_not_allowed'],
        [{ headers: sameOrigin }, '400 invalid_request'],
        [{ cookie: `${cookie}A`, headers: sameOrigin }, '400 invalid_request'],
        [
          { cookie, headers: { ...sameOrigin, 'Latchkey-User': `usr_${'A'.repeat(22)}` } },
          '412 precondition_failed',
        ],
      ] as const;
      for (const [how, refusal] of refusals)
        expect(outcome(await exchange(app, undefined, { ...wants, ...how }))).toBe(refusal);
    });

    test('is renewed when it is due, and gives way to a bearer token in the same request', async () => {
      const cookie = await browserLogin(newAddress());
      app.pass(86_400);
      const answer = await exchange(app, undefined, { cookie, headers: sameOrigin, scope: 'profile' });
      expect(answer.headers.getSetCookie().join()).toContain('latchkey_session=');
      const { access_token } = await app.login(newAddress());
      const headers = { ...sameOrigin, Authorization: `Bearer ${access_token}` };
      const made = await run(undefined, { cookie, headers, scope: 'profile' });
      expect((await facts(made.access_token)).within).toEqual([await idFor(access_token)]);
    });
  });

  describe('a run that is meant for a service', () => {
    const scope = 'profile email';
    const meant = (login: Tokens, wants = {}) =>
      run(login.access_token, { scope, resource: agentsUri, expires_in: '60', ...wants });

    test('gives its place to the run of that service, and never more than it allows itself', async () => {
      const login = await app.login(newAddress());
      const own = { scope: 'profile', authorization_details: [{ type: 'a' }] };
      const handed = await meant(login, own);
      const inner = await run(handed.access_token);
      const by = agents.authorization;
      expect(outcome(await exchange(app, handed.access_token, { by, scope }))).toBe('400 invalid_scope');
      const authorization_details = [{ type: 'b' }];
      expect(outcome(await exchange(app, handed.access_token, { by, authorization_details }))).toBe(
        '400 invalid_authorization_details',
      );
      const taken = await run(handed.access_token, { by, resource: ticketsUri, expires_in: '3600' });
      expect(taken).toMatchObject({ expires_in: 3600, ...own });
      expect(await facts(taken.access_token, tickets)).toMatchObject({
        act: { sub: agents.id },
        aud: ticketsUri,
        within: [await idFor(login.access_token)],
      });
      for (const { access_token } of [handed, inner])
        expect(await facts(access_token)).toEqual({ active: false });
      app.pass(61);
      expect((await refreshRun(app, taken.refresh_token, by)).status).toBe(200);
    });

    test('gives its place once, however many exchanges race', async () => {
      const login = await app.login(newAddress());
      const handed = await meant(login);
      const answers = await Promise.all(
        Array.from({ length: 6 }, (_, n) =>
          exchange(n % 2 ? app : node, handed.access_token, { by: agents.authorization }),
        ),
      );
      expect(answers.map(outcome).toSorted()).toEqual(['200', ...Array(5).fill('400 invalid_request')]);
    });

    test('makes room for the one that takes its place, at any depth, of which there are three', async () => {
      const login = await app.login(newAddress());
      const first = await run(login.access_token, { by: tickets.authorization, scope });
      const second = await run(first.access_token, { by: tickets.authorization });
      const handed = await run(second.access_token, { resource: agentsUri });
      const taken = await run(handed.access_token, { by: agents.authorization });
      const { aud, within } = await facts(taken.access_token);
      expect([aud, within.length]).toEqual([agentsUri, 3]);
      for (const wants of [{}, { by: agents.authorization }])
        expect(outcome(await exchange(app, taken.access_token, wants))).toBe('409 conflict');
    });

    test('does not give its place if a service made it or it is not bound', async () => {
      const login = await app.login(newAddress());
      const unbound = await run(login.access_token, { scope });
      const acted = await run(login.access_token, { by: tickets.authorization, scope, resource: agentsUri });
      for (const outer of [unbound, acted]) {
        const inner = await run(outer.access_token, { by: agents.authorization });
        expect((await facts(inner.access_token)).within).toHaveLength(2);
        expect((await facts(outer.access_token)).active).toBe(true);
      }
    });
  });

  describe('signing in again in the same browser', () => {
    const acted = (cookie: string) =>
      run(undefined, { cookie, headers: sameOrigin, by: agents.authorization, scope: 'profile' });

    // That ended runs stay ended, and that runs end with the new session: tests/invariants/properties.test.ts.
    test('stops no run: the new session takes them over, at every depth', async () => {
      const email = newAddress();
      const cookie = await browserLogin(email);
      const first = await acted(cookie);
      const second = await run(first.access_token, { by: tickets.authorization });
      const [, former] = (await facts(second.access_token)).within;
      const renewed = await browserLogin(email, cookie);
      const within: string[] = (await facts(second.access_token)).within;
      const [login] = (await facts(first.access_token)).within;
      expect(within).toEqual([await idFor(first.access_token), login]);
      expect(login).not.toBe(former);
      const refreshed = await refreshRun(app, first.refresh_token, agents.authorization);
      expect(refreshed.status).toBe(200);
      const list = await app.ask('GET', '/sessions', { cookie: renewed, headers: sameOrigin });
      expect(list.body.sessions.filter(({ kind }: { kind: string }) => kind === 'run')).toHaveLength(2);
    });

    test('brings no run back whose login had expired', async () => {
      const email = newAddress();
      const cookie = await browserLogin(email);
      const made = await acted(cookie);
      const [login] = (await facts(made.access_token)).within;
      // As after LATCHKEY_REFRESH_IDLE_TTL, where that is shorter than the life of a run.
      const idle = `UPDATE sessions SET idle_expires_at = ${app.ctx.clock()} WHERE id = '${login}'`;
      await app.ctx.db.single.run(idle, []);
      const isOver = async () => {
        expect(await facts(made.access_token)).toEqual({ active: false });
        expect(outcome(await refreshRun(app, made.refresh_token, agents.authorization))).toBe(
          '400 invalid_grant',
        );
      };
      await isOver();
      await browserLogin(email, cookie);
      await isOver();
    });

    // One that is being made: tests/invariants/locks.test.ts.
    test('does not disturb a run that is refreshed or used at the same moment', async () => {
      for (let round = 0; round < 5; round++) {
        const email = newAddress();
        const cookie = await browserLogin(email);
        const made = await acted(cookie);
        let stop = false;
        let { refresh_token: token } = made;
        const refused: string[] = [];
        const refreshing = (async () => {
          while (!stop) {
            const answer = await refreshRun(node, token, agents.authorization);
            if (answer.status === 200) token = answer.body.refresh_token;
            else refused.push(outcome(answer));
            const { active } = await facts(made.access_token);
            if (!active) refused.push('inactive');
          }
        })();
        await browserLogin(email, cookie);
        stop = true;
        await refreshing;
        expect(refused).toEqual([]);
      }
    });
  });
});
