import { describe, expect, test } from 'bun:test';
import { isLive, mailsTo, newAddress, outcome, subjects } from '#support/account.ts';
import { onBothDatabases, type Tokens } from '#support/app.ts';
import { appLogin, redirectUri } from '#support/authorize.ts';
import { copySession, exchange, introspected, refreshRun, runScene, startedRun } from '#support/runs.ts';
import { loggedEvents } from '#support/security-log.ts';
import { basic, changeService, declareService, type TestService } from '#support/services.ts';
import { rotateServiceKey } from '../../services/service-keys.ts';
import { revokeService } from '../ending.ts';

const scope = 'profile';

onBothDatabases('the life of a run', (open, dialect) => {
  const { app, node, agents, builds, run, facts, idFor } = runScene(open, dialect);
  const isActive = async (token: string) => (await facts(token)).active;

  /** A service with these settings, with a login and a service that may delegate. */
  async function openWith(settings: Record<string, string>) {
    const own = await open({ settings });
    const { authorization: by } = await declareService(own.ctx, { name: 'Agents', rights: ['delegate'] });
    return { own, by, login: await own.login() };
  }

  describe('its end', () => {
    test('the idle timeout of a parent ends a run, which ended parents do not let live on', async () => {
      const { own, by, login } = await openWith({
        LATCHKEY_REFRESH_IDLE_TTL: '600',
        LATCHKEY_SESSION_TTL: '3600',
      });
      const started = await startedRun(own, login.access_token, { by, scope });
      expect(started.expires_in).toBeLessThanOrEqual(600);
      own.pass(601);
      expect(outcome(await refreshRun(own, started.refresh_token, by))).toBe('400 invalid_grant');
      expect(await introspected(own, started.access_token, by)).toEqual({ active: false });
    });

    test('a run whose parent is swept stays ended', async () => {
      const { own, by, login } = await openWith({
        LATCHKEY_RUN_TTL: String(10 * 86_400),
        LATCHKEY_RUN_IDLE_TTL: String(9 * 86_400),
      });
      const outer = await startedRun(own, login.access_token, { by, scope });
      const inner = await startedRun(own, outer.access_token, { by });
      const left = async () =>
        (await own.ctx.db.read.run("SELECT id FROM sessions WHERE kind = 'run'", [])).length;
      await own.ask('POST', '/revoke', { form: { token: outer.access_token } });
      own.pass(3601);
      await own.sweep();
      expect(await left()).toBe(1);
      expect(outcome(await refreshRun(own, inner.refresh_token, by))).toBe('400 invalid_grant');
      own.pass(10 * 86_400);
      await own.sweep();
      expect(await left()).toBe(0);
    });

    test('revoking a service ends its sessions and the runs that it acts in, of every account, and what is within them, whenever they were made, and goes on where it was interrupted', async () => {
      const service = { name: 'Doomed', rights: ['delegate' as const], redirectUris: [redirectUri] };
      const doomed = await declareService(app.ctx, service);
      const { id, authorization: by } = doomed;
      const logins = [];
      for (let user = 0; user < 8; user++) logins.push(await app.login(newAddress()));
      const runs = await Promise.all(logins.map(({ access_token }) => run(access_token, { by, scope })));
      const [login, first] = [logins[0]!, runs[0]!];
      const application = await appLogin(app, login, doomed);
      const narrowed = await run(first.access_token);
      const inner = await run(first.access_token, { by: builds.authorization });
      const other = await run(login.access_token, { by: builds.authorization, scope });
      const below = await run(application.access_token, { scope });
      await copySession(app, await idFor(first.access_token), 1_000);
      const requireEnded = async () => {
        for (const { access_token } of [...runs, narrowed, inner, application, below])
          expect(await isActive(access_token)).toBe(false);
        expect(await isLive(app, application)).toBe(false);
        const refreshed = await refreshRun(node, inner.refresh_token, builds.authorization);
        expect(outcome(refreshed)).toBe('400 invalid_grant');
        expect(await isActive(other.access_token)).toBe(true);
      };
      // An interrupted command leaves it like this.
      await app.ctx.db.single.run(`UPDATE service_keys SET revoked_at = 1 WHERE id = '${id}'`, []);
      await requireEnded();
      await revokeService(app.ctx, id);
      await requireEnded();
      const left = `SELECT id FROM sessions WHERE '${id}' IN (service_id, client_id) AND revoked_at IS NULL`;
      expect(await app.ctx.db.read.run(left, [])).toEqual([]);
      await expect(revokeService(app.ctx, id)).rejects.toMatchObject({ code: 'not_found' });
      expect(outcome(await refreshRun(app, first.refresh_token, by))).toBe('401 invalid_client');
      const ended = await loggedEvents(app, login, 'run_ended');
      expect(ended.map(({ detail }) => detail)).toContainEqual(
        expect.objectContaining({ service: id, reason: 'service_revoked', scope }),
      );
    });

    test('thousands of runs end with their login in one write', async () => {
      const login = await app.login(newAddress());
      const { access_token } = await run(login.access_token, { scope });
      await copySession(app, await idFor(access_token), 10_000);
      const before = app.statements.length;
      await app.ask('DELETE', '/logout?scope=session', { token: login.access_token });
      const isWrite = (text: string) => text.includes('"sessions"') && /^update/i.test(text);
      expect(app.statements.slice(before).filter(isWrite)).toHaveLength(1);
      expect(await isActive(access_token)).toBe(false);
    });
  });

  describe('refreshing', () => {
    test.each<[string, string, (owner: Tokens, service: TestService) => Promise<Tokens>]>([
      [
        'a run',
        '401 invalid_client',
        (owner, { authorization: by }) => run(owner.access_token, { by, scope }),
      ],
      ['an application', '400 invalid_grant', (owner, service) => appLogin(app, owner, service)],
    ])(
      'that of %s needs the key of its service: others, who get %s without one, spend and end nothing, and prove no theft',
      async (_, unnamed, start) => {
        const declare = () =>
          declareService(app.ctx, { name: 'Reader', rights: ['delegate'], redirectUris: [redirectUri] });
        const [service, other, plain] = [await declare(), await declare(), await declareService(app.ctx)];
        const email = newAddress();
        const owner = await app.login(email);
        const { access_token, refresh_token: token } = await start(owner, service);
        const { id: client_id, authorization } = service;
        const client_secret = `lk_sk_${'A'.repeat(43)}`;
        const refresh = async (by?: string, more?: Record<string, string>) =>
          outcome(await refreshRun(app, token, by, more));
        const requireRefused = async () => {
          for (const more of [{}, { client_id }, { scope: 'email' }])
            expect([more, await refresh(undefined, more)]).toEqual([more, unnamed]);
          expect(await refresh(`Bearer ${owner.access_token}`)).toBe(unnamed);
          expect(outcome(await app.ask('POST', '/refresh', { json: { refresh_token: token } }))).toBe(
            unnamed,
          );
          for (const by of [other, plain]) expect(await refresh(by.authorization)).toBe('400 invalid_grant');
          for (const by of [`${authorization}x`, basic(`${client_id}:${client_secret}`)])
            expect(await refresh(by)).toBe('401 invalid_client');
          expect(await refresh(undefined, { client_id, client_secret })).toBe('400 invalid_client');
        };
        await requireRefused();
        expect(await refresh(authorization)).toBe('200');
        // Now it was spent long ago.
        app.pass(60);
        await requireRefused();
        expect(await isActive(access_token)).toBe(true);
        expect(await refresh(authorization)).toBe('400 invalid_grant');
        expect(await isActive(access_token)).toBe(false);
        expect(await loggedEvents(app, owner, 'refresh_theft')).toHaveLength(1);
        const [notice] = await mailsTo(app, email, subjects.theft);
        expect(notice?.text).toContain('Program: "Reader"');
      },
    );

    test('takes either secret of the service, and the right to delegate, without which nothing is lost', async () => {
      const login = await app.login(newAddress());
      const { id, authorization } = await declareService(app.ctx, { name: 'Fading', rights: ['delegate'] });
      const started = await run(login.access_token, { by: authorization, scope });
      const { secret } = await rotateServiceKey(app.ctx, id);
      const { body } = await refreshRun(app, started.refresh_token, basic(`${id}:${secret}`));
      await changeService(app.ctx, id, { rights: [] });
      const refused = await refreshRun(app, body.refresh_token, authorization);
      expect(outcome(refused)).toBe('403 unauthorized_client');
      expect(await isActive(started.access_token)).toBe(true);
      await changeService(app.ctx, id, { rights: ['delegate'] });
      expect(outcome(await refreshRun(app, body.refresh_token, authorization))).toBe('200');
    });

    // And an hour after its last token if it is not refreshed: tests/invariants/properties.test.ts.
    test('a run that is refreshed every hour ends after a day', async () => {
      const login = await app.login(newAddress());
      const by = agents.authorization;
      let kept = await run(login.access_token, { by, scope, expires_in: '3600' });
      for (let hour = 1; hour < 24; hour++) {
        app.pass(3590);
        const answer = await refreshRun(app, kept.refresh_token, by);
        expect(answer.status).toBe(200);
        kept = answer.body;
      }
      app.pass(3000);
      const { body: last } = await refreshRun(app, kept.refresh_token, by);
      expect(last.expires_in).toBeLessThan(900);
      app.pass(last.expires_in + 1);
      expect(outcome(await refreshRun(app, last.refresh_token, by))).toBe('400 invalid_grant');
      expect(await isActive(last.access_token)).toBe(false);
    });

    test('a token that outlives the idle timeout keeps its run until it expires', async () => {
      const { own, by, login } = await openWith({ LATCHKEY_RUN_IDLE_TTL: '100' });
      const started = await startedRun(own, login.access_token, { by, scope, expires_in: '600' });
      own.pass(590);
      const refreshed = await refreshRun(own, started.refresh_token, by);
      expect(refreshed.status).toBe(200);
      own.pass(590);
      expect((await introspected(own, refreshed.body.access_token, by)).active).toBe(true);
      own.pass(11);
      expect(outcome(await refreshRun(own, refreshed.body.refresh_token, by))).toBe('400 invalid_grant');
    });
  });

  describe('its limits', () => {
    test('at most 1,000 active runs are directly within one parent, however many are made at once', async () => {
      const login = await app.login(newAddress());
      const one = await run(login.access_token, { scope });
      await copySession(app, await idFor(one.access_token), 997);
      const answers = await Promise.all(
        Array.from({ length: 6 }, (_, n) => exchange(n % 2 ? app : node, login.access_token, { scope })),
      );
      expect(answers.map(outcome).toSorted()).toEqual(['200', '200', ...Array(4).fill('409 conflict')]);
      await run(one.access_token);
      await app.ask('POST', '/revoke', { form: { token: one.access_token } });
      await run(login.access_token, { scope });
    });

    test('at most 20,000 active runs are below one login', async () => {
      const login = await app.login(newAddress());
      const one = await run(login.access_token, { scope });
      await copySession(app, await idFor(one.access_token), 19_998, { within_session_id: "'elsewhere'" });
      await run(one.access_token);
      expect(outcome(await exchange(app, one.access_token))).toBe('409 conflict');
      expect(outcome(await exchange(app, login.access_token, { scope }))).toBe('409 conflict');
      // Below a run that has ended there is none that counts.
      await app.ask('POST', '/revoke', { form: { token: one.access_token } });
      await run(login.access_token, { scope });
    });

    test('as many runs a minute as the limit allows are made below one login, at whatever depth', async () => {
      const { own, login } = await openWith({ LATCHKEY_RATE_LIMITS: 'runs=3/60' });
      const outer = await startedRun(own, login.access_token, { scope });
      for (let n = 0; n < 2; n++) await startedRun(own, outer.access_token);
      const refused = await exchange(own, login.access_token, { scope });
      expect(outcome(refused)).toBe('429 rate_limited');
      expect(Number(refused.headers.get('Retry-After'))).toBeGreaterThan(0);
      await startedRun(own, (await own.login('bob@example.com')).access_token, { scope });
    });
  });

  test('making and ending runs is recorded at most once an hour for each sign-in, depth, service and scope', async () => {
    const login = await app.login(newAddress());
    const { access_token: token } = login;
    for (let n = 0; n < 3; n++) {
      for (const by of [agents.authorization, undefined]) {
        const outer = await run(token, { by, scope });
        const inner = by === undefined ? [] : [await run(outer.access_token)];
        for (const ended of [...inner, outer])
          await app.ask('POST', '/revoke', { form: { token: ended.access_token } });
      }
      await run(token, { scope: 'email profile' });
      await run(token, { scope: 'profile email' });
    }
    for (const [type, events] of [
      ['run_started', 4],
      ['run_ended', 3],
    ] as const)
      expect(await loggedEvents(app, login, type)).toHaveLength(events);
    const details = (await loggedEvents(app, login, 'run_started')).map(({ detail }) => detail);
    const within = await idFor(token);
    expect(details).toContainEqual({ scope, within, service: agents.id, service_name: 'Agents' });
    expect(details).toContainEqual({ scope, within });
    app.pass(3600);
    await run(token, { by: agents.authorization, scope });
    expect(await loggedEvents(app, login, 'run_started')).toHaveLength(5);
  });
});
