import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { LatchkeyError } from '@latchkey/client/errors';
import { outcome } from '../../../../../tests/support/account.ts';
import { type Answer, onBothDatabases, type TestApp, type Tokens } from '../../../../../tests/support/app.ts';
import { createdKey } from '../../../../../tests/support/keys.ts';
import { changeService, declareService, type TestService } from '../../../../../tests/support/services.ts';
import { signUp } from '../../identity/account/account.ts';
import { listServices, revokeService } from '../../services/service-keys/service-keys.ts';
import { endRunsOfService } from '../../sessions/revocation.ts';
import { tokensOf } from '../../sessions/sessions.ts';
import { startSession } from '../../sessions/starting.ts';

setDefaultTimeout(60_000);

const uri = (name: string) => `https://${name}.example`;
const scopeOf = (name: string) => ({ name: `${name}:read`, sentence: `Read your ${name}` });
/** A service that declares one scope and its resource. */
const offering = (name: string) => ({ name, resource: uri(name), scopes: [scopeOf(name)] });

onBothDatabases('a scope or resource that gets another service', (open) => {
  let app: TestApp;
  let browser: Tokens;
  beforeAll(async () => {
    app = await open();
    browser = await app.login();
  });
  afterAll(() => app.close());

  const isActive = async (token: string, by: TestService): Promise<boolean> => {
    const headers = { Authorization: by.authorization };
    return (await app.ask('POST', '/introspect', { form: { token }, headers })).body.active;
  };
  const startDevice = async (scope: string, resource?: string) =>
    (await app.ask('POST', '/device', { json: { scope, ...(resource && { resource }) } })).body;
  const decide = (decision: 'approve' | 'deny' | 'verify', { user_code }: { user_code: string }) =>
    app.ask('POST', `/device/${decision}`, { token: browser.access_token, json: { user_code } });
  const redeem = ({ device_code }: { device_code: string }): Promise<Answer> =>
    app.ask('POST', '/token', { json: { device_code } });
  const narrowLogin = async (scope: string, resource?: string): Promise<Tokens> => {
    const device = await startDevice(scope, resource);
    expect(outcome(await decide('approve', device))).toBe('204');
    return (await redeem(device)).body;
  };
  const newestEvents = async () =>
    (await app.ask('GET', '/events', { token: browser.access_token })).body.events;

  test('every key and narrowed login that holds it ends with the declaration, and no other', async () => {
    const former = await declareService(app.ctx, offering('builds'));
    const bystander = await declareService(app.ctx, offering('tests'));
    const holding = [
      (await createdKey(app, browser, { scope: 'builds:read' })).key,
      (await createdKey(app, browser, { scope: 'profile builds:read tests:read' })).key,
      (await narrowLogin('tests:read builds:read')).access_token,
    ];
    const bound = [
      (await createdKey(app, browser, { scope: '*', resource: uri('builds') })).key,
      (await narrowLogin('*', uri('builds'))).access_token,
    ];
    const others = [
      browser.access_token,
      (await createdKey(app, browser)).key,
      (await createdKey(app, browser, { scope: 'tests:read' })).key,
      (await createdKey(app, browser, { scope: 'profile' })).key,
      (await narrowLogin('tests:read')).access_token,
    ];
    await revokeService(app.ctx, former.id, endRunsOfService);
    for (const token of holding) expect(await isActive(token, bystander)).toBe(true);

    const next = await declareService(app.ctx, { ...offering('builds'), resource: `${uri('builds')}/` });
    for (const token of [...holding, ...bound]) expect(await isActive(token, next)).toBe(false);
    for (const token of others) expect(await isActive(token, next)).toBe(true);
    expect((await app.ask('GET', '/me', { token: holding[1]! })).status).toBe(401);
  });

  test('the end of each is in the security log of its owner, who gets a notice about keys', async () => {
    const former = await declareService(app.ctx, offering('mirrors'));
    const { id } = await createdKey(app, browser, { name: 'nightly', scope: 'mirrors:read' });
    await narrowLogin('mirrors:read');
    await revokeService(app.ctx, former.id, endRunsOfService);
    await declareService(app.ctx, offering('mirrors'));
    const ended = (await newestEvents()).slice(0, 2);
    expect(ended).toContainEqual(
      expect.objectContaining({
        type: 'key_removed',
        session_id: id,
        detail: { key_id: id, name: 'nightly', scope: 'mirrors:read', reason: 'taken_over' },
      }),
    );
    expect(ended).toContainEqual(
      expect.objectContaining({ type: 'session_revoked', detail: { reason: 'taken_over' } }),
    );
    expect((await app.mails())[0]!.subject).toContain('was removed');
  });

  test('a device that waits for approval, or for its tokens, is denied', async () => {
    const former = await declareService(app.ctx, offering('deploys'));
    const [pending, approved, bound] = [
      await startDevice('deploys:read'),
      await startDevice('profile deploys:read'),
      await startDevice('profile', uri('deploys')),
    ];
    const other = await startDevice('profile');
    for (const device of [approved, bound]) expect(outcome(await decide('approve', device))).toBe('204');
    await revokeService(app.ctx, former.id, endRunsOfService);
    await declareService(app.ctx, offering('deploys'));
    expect(outcome(await decide('approve', pending))).toBe('400 invalid_grant');
    for (const device of [pending, approved, bound])
      expect(outcome(await redeem(device))).toBe('400 access_denied');
    expect(await newestEvents()).toContainEqual(
      expect.objectContaining({ type: 'session_revoked', detail: { reason: 'taken_over' } }),
    );
    expect(outcome(await decide('approve', other))).toBe('204');
    expect((await redeem(other)).status).toBe(200);
  });

  test('what a service has withdrawn can be neither approved nor redeemed nor put into a key', async () => {
    const service = await declareService(app.ctx, offering('wikis'));
    const asked = [
      [await startDevice('wikis:read'), 'invalid_scope'],
      [await startDevice('profile', uri('wikis')), 'invalid_target'],
    ] as const;
    const approved = await startDevice('wikis:read');
    expect(outcome(await decide('approve', approved))).toBe('204');
    await changeService(app.ctx, service.id, { scopes: [], resource: null });
    for (const [device, error] of asked) {
      expect(outcome(await decide('approve', device))).toBe(`400 ${error}`);
      expect(outcome(await decide('deny', device))).toBe('204');
    }
    expect(outcome(await redeem(approved))).toBe('400 invalid_scope');
    const json = { name: 'x', scope: 'wikis:read', expires_in: 3600 };
    expect(outcome(await app.ask('POST', '/keys', { token: browser.access_token, json }))).toBe(
      '400 invalid_scope',
    );
  });

  test('a service that declares its own names again ends nothing', async () => {
    const service = await declareService(app.ctx, offering('pages'));
    const { key } = await createdKey(app, browser, { scope: 'pages:read' });
    const { key: bound } = await createdKey(app, browser, { scope: '*', resource: uri('pages') });
    await changeService(app.ctx, service.id, { resource: `${uri('pages')}/` });
    expect(await isActive(bound, service)).toBe(true);
    await changeService(app.ctx, service.id, { scopes: [] });
    await changeService(app.ctx, service.id, { scopes: [{ ...scopeOf('pages'), sentence: 'See pages' }] });
    await changeService(app.ctx, service.id, { resource: null, rights: ['feed'] });
    expect(await isActive(key, service)).toBe(true);
  });

  test('a name that another service declares is a conflict, and the rest of the command changes nothing', async () => {
    const owner = await declareService(app.ctx, offering('issues'));
    const { key } = await createdKey(app, browser, { scope: 'issues:read' });
    const former = await declareService(app.ctx, offering('boards'));
    const boards = await createdKey(app, browser, { scope: 'boards:read' });
    await revokeService(app.ctx, former.id, endRunsOfService);
    const before = await listServices(app.ctx);
    const wanted = { scopes: [scopeOf('boards'), scopeOf('issues')] };
    await expect(declareService(app.ctx, wanted)).rejects.toThrow(`issues:read belongs to ${owner.id}`);
    // Without a path, the final slash makes no other resource.
    for (const resource of [uri('issues'), `${uri('issues')}/`])
      await expect(declareService(app.ctx, { ...wanted, scopes: [], resource })).rejects.toThrow(
        `${uri('issues')} belongs to ${owner.id}`,
      );
    const other = await declareService(app.ctx, offering('labels'));
    const kept = (await listServices(app.ctx)).slice(-1);
    await expect(
      changeService(app.ctx, other.id, { ...wanted, resource: null, rights: ['users'] }),
    ).rejects.toThrow('belongs to');
    expect(await listServices(app.ctx)).toEqual([...before, ...kept]);
    expect(await isActive(key, owner)).toBe(true);
    expect(await isActive(boards.key, owner)).toBe(true);
  });

  test('of services that declare the same names at once, exactly one gets them, and the others do not exist', async () => {
    const node = await open({ beside: app });
    const racers = Array.from({ length: 8 }, (_, n) => (n % 2 ? app : node));
    const contests: readonly ((n: number) => Parameters<typeof declareService>[1])[] = [
      (n) => ({
        name: 'racer',
        resource: n < 4 ? uri('race') : null,
        scopes: [scopeOf('race'), scopeOf(`race.${n}`)].toReversed(),
      }),
      (n) => ({ name: 'speller', resource: uri('spelling') + (n < 4 ? '/' : '') }),
    ];
    for (const contest of contests) {
      const results = await Promise.allSettled(racers.map(({ ctx }, n) => declareService(ctx, contest(n))));
      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      for (const result of results)
        if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'conflict' });
      const made = (await listServices(app.ctx)).filter(({ name }) => name === contest(0)?.name);
      expect(made).toHaveLength(1);
    }
    await node.close();
  });

  test('more accounts than fit into one transaction all lose the name', async () => {
    const former = await declareService(app.ctx, offering('crowds'));
    const client = { ipAddress: null, userAgent: null };
    const tokens = await Promise.all(
      Array.from({ length: 230 }, (_, n) =>
        app.ctx.db.transaction(async (tx) => {
          const { id: userId } = await signUp(
            app.ctx,
            tx,
            { email: `crowd-${n}@example.com`, language: null },
            client,
          );
          return startSession(app.ctx, tx, {
            userId,
            kind: 'device',
            method: 'device_code',
            client,
            scope: 'crowds:read',
            makesAccount: true,
          });
        }),
      ),
    ).then((sessions) => sessions.map((session) => tokensOf(app.ctx, session).access_token));
    await revokeService(app.ctx, former.id, endRunsOfService);
    const next = await declareService(app.ctx, offering('crowds'));
    const active = await Promise.all(tokens.map((token) => isActive(token, next)));
    expect(active.filter(Boolean)).toEqual([]);
  });

  test('refreshing a login that ended this way is invalid_grant', async () => {
    const former = await declareService(app.ctx, offering('notes'));
    const { refresh_token } = await narrowLogin('notes:read');
    await revokeService(app.ctx, former.id, endRunsOfService);
    await declareService(app.ctx, offering('notes'));
    await expect(app.api.call('refresh', { body: { refresh_token } })).rejects.toMatchObject({
      constructor: LatchkeyError,
      code: 'invalid_grant',
    });
  });
});
