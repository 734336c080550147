import { beforeAll, expect, test } from 'bun:test';
import { outcome } from '#support/account.ts';
import { onBothDatabases, type Tokens } from '#support/app.ts';
import { type Decision, type DeviceCodes, decideDevice, pollDevice, startDevice } from '#support/devices.ts';
import { createdKey } from '#support/keys.ts';
import { introspected } from '#support/runs.ts';
import { changeService, declareService } from '#support/services.ts';
import { shared } from '#support/shared.ts';
import { revokeService } from '../sessions/ending.ts';
import { listServices } from './service-keys.ts';

const uri = (name: string) => `https://${name}.example`;
const scopeOf = (name: string) => ({ name: `${name}:read`, sentence: `Read your ${name}` });
/** A service that declares one scope and its resource. */
const offering = (name: string) => ({ name, resource: uri(name), scopes: [scopeOf(name)] });

onBothDatabases('a scope or resource', (open) => {
  const app = shared(open);
  let browser: Tokens;
  beforeAll(async () => {
    browser = await app.login();
  });

  test.each<[string, (id: string) => Promise<unknown>]>([
    ['is withdrawn', (id) => changeService(app.ctx, id, { scopes: [], resource: null })],
    ['belonged to a service that is revoked', (id) => revokeService(app.ctx, id)],
  ])('that %s can be neither asked for, approved, redeemed nor put into a key', async (what, end) => {
    const name = what.split(' ')[0]!;
    const service = await declareService(app.ctx, offering(name));
    const decide = async (decision: Decision, codes: DeviceCodes) =>
      outcome(await decideDevice(app, decision, codes, browser));
    const wanted = [
      [{ scope: `${name}:read` }, '400 invalid_scope'],
      [{ scope: 'profile', resource: uri(name) }, '400 invalid_target'],
    ] as const;
    const pending = await Promise.all(wanted.map(([json]) => startDevice(app, json)));
    const approved = await startDevice(app, { scope: `${name}:read` });
    expect(await decide('approve', approved)).toBe('204');
    await end(service.id);
    for (const [n, [json, refusal]] of wanted.entries()) {
      expect(outcome(await app.ask('POST', '/device', { json }))).toBe(refusal);
      expect([await decide('approve', pending[n]!), await decide('deny', pending[n]!)]).toEqual([
        refusal,
        '204',
      ]);
      const key = { name: 'x', expires_in: 3600, ...json };
      expect(outcome(await app.ask('POST', '/keys', { token: browser.access_token, json: key }))).toBe(
        refusal,
      );
    }
    expect(outcome(await pollDevice(app, approved))).toBe('400 invalid_scope');
  });

  test('can be withdrawn and declared again by its service, and no token ends', async () => {
    const { id, authorization } = await declareService(app.ctx, offering('pages'));
    const isActive = async (token: string) => (await introspected(app, token, authorization)).active;
    const { key } = await createdKey(app, browser, { scope: 'pages:read' });
    const { key: bound } = await createdKey(app, browser, { scope: '*', resource: uri('pages') });
    await changeService(app.ctx, id, { resource: `${uri('pages')}/` });
    expect(await isActive(bound)).toBe(true);
    await changeService(app.ctx, id, { scopes: [] });
    await changeService(app.ctx, id, { scopes: [{ ...scopeOf('pages'), sentence: 'See pages' }] });
    await changeService(app.ctx, id, { resource: null, rights: ['feed'] });
    expect(await isActive(key)).toBe(true);
    await changeService(app.ctx, id, { resource: uri('pages') });
    expect((await listServices(app.ctx)).find((service) => service.id === id)).toMatchObject({
      resource: uri('pages'),
      scopes: [{ name: 'pages:read', description: 'See pages' }],
    });
  });

  test('belongs to its service for ever: declaring it for another one names the owner and changes nothing', async () => {
    const active = await declareService(app.ctx, offering('issues'));
    const withdrawn = await declareService(app.ctx, offering('boards'));
    await changeService(app.ctx, withdrawn.id, { scopes: [], resource: null });
    const revoked = await declareService(app.ctx, offering('charts'));
    await revokeService(app.ctx, revoked.id);
    const other = await declareService(app.ctx, offering('labels'));
    const before = await listServices(app.ctx);
    for (const [name, owner] of [
      ['issues', `issues (${active.id}).`],
      ['boards', `boards (${withdrawn.id}).`],
      ['charts', `charts (${revoked.id}), which is revoked.`],
    ] as const) {
      const wanted = { scopes: [scopeOf('free'), scopeOf(name)] };
      const sentence = `The scope ${name}:read belongs to ${owner}`;
      await expect(declareService(app.ctx, wanted)).rejects.toThrow(sentence);
      const changes = { ...wanted, resource: null, rights: ['users'] } as const;
      await expect(changeService(app.ctx, other.id, changes)).rejects.toThrow(sentence);
      // Without a path, the final slash makes no other resource.
      for (const resource of [uri(name), `${uri(name)}/`])
        await expect(declareService(app.ctx, { resource })).rejects.toThrow(
          `The resource ${uri(name)} belongs to ${owner}`,
        );
    }
    expect(await listServices(app.ctx)).toEqual(before);
  });

  test('that several services declare at once belongs to exactly one, and the others do not exist', async () => {
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
  });
});
