import { afterAll, beforeAll, expect, test } from 'bun:test';
import { onBothDatabases, type TestApp, type Tokens } from '../../../../../tests/support/app.ts';
import { createdKey } from '../../../../../tests/support/keys.ts';
import { declareService } from '../../../../../tests/support/services.ts';

const tickets = 'https://tickets.example/api';

onBothDatabases('introspection of narrow tokens', (open) => {
  let app: TestApp;
  let owner: Tokens;
  let services: Record<'tickets' | 'builds' | 'without', string>;
  beforeAll(async () => {
    app = await open();
    const keyOf = async (name: string, resource?: string) =>
      (await declareService(app.ctx, { name, ...(resource === undefined ? {} : { resource }) }))
        .authorization;
    services = {
      tickets: await keyOf('Tickets', tickets),
      builds: await keyOf('Builds', 'https://builds.example/api'),
      without: await keyOf('Without a resource'),
    };
    owner = await app.login();
  });
  afterAll(() => app.close());

  const introspect = async (token: string, service: keyof typeof services) =>
    (
      await app.ask('POST', '/introspect', {
        form: { token },
        headers: { Authorization: services[service] },
      })
    ).body;

  test.each(['*', 'profile', 'openid email'])('shows the scope %s', async (scope) => {
    const { access_token, refresh_token } = await app.deviceLogin(owner, { scope });
    for (const token of [access_token, refresh_token])
      expect(await introspect(token, 'without')).toMatchObject({ active: true, scope });
    expect(await introspect(access_token, 'tickets')).not.toHaveProperty('aud');
  });

  test('a token that is bound to a resource is active only for the service of that resource', async () => {
    const { access_token, refresh_token } = await app.deviceLogin(owner, {
      scope: 'profile',
      resource: tickets,
    });
    const { key } = await createdKey(app, owner, { resource: tickets });
    for (const token of [access_token, refresh_token, key]) {
      expect(await introspect(token, 'tickets')).toMatchObject({ active: true, aud: tickets });
      expect(await introspect(token, 'builds')).toEqual({ active: false });
      expect(await introspect(token, 'without')).toEqual({ active: false });
    }
  });
});
