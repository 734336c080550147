// The form of events on the wire, and the keys that sign them.

import { expect, test } from 'bun:test';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { onBothDatabases, type TestApp } from '#support/app.ts';
import { type FeedService, feedService } from '#support/feed.ts';
import { verifiedJwt } from '#support/jwt.ts';
import { addMember, createOrganization } from '#support/services.ts';
import { removeMember } from '../../identity/organizations/organizations.ts';
import { leadSeconds, rotateSigningKey } from '../signing-keys/signing-keys.ts';

const caep = 'https://schemas.openid.net/secevent/caep/event-type/';

const now = { returnImmediately: true };
/** The one event that an operation causes. */
async function eventOf(service: FeedService, operate: () => Promise<unknown>) {
  await service.read();
  await operate();
  const events = await service.read();
  expect(events).toHaveLength(1);
  const { uri, payload, subject } = events[0]!;
  return { uri, payload, subject };
}

onBothDatabases('the form of events', (open, dialect) => {
  const start = async (...rights: Parameters<TestApp['serviceAuthorization']>) => {
    const t = await open();
    const service = await feedService(t, ...rights);
    const { access_token: accessToken } = await t.login();
    const { id } = await t.api.call('getProfile', { accessToken });
    const iss = t.ctx.config.baseUrl;
    const user = { format: 'iss_sub', iss, sub: id };
    return { t, service, accessToken, id, iss, user };
  };

  // The subject of each event: tests/invariants/operations.test.ts.
  test('the token of an event has just what RFC 8417 says', async () => {
    const { t, service, iss, user, accessToken } = await start();
    await t.api.call('revoke', { accessToken });
    const { body } = await service.ask(now);
    const [[jti, set]] = Object.entries(body.sets) as [[string, string]];
    const { keys } = (await t.ask('GET', '.well-known/jwks.json')).body;
    expect(decodeProtectedHeader(set)).toEqual({ alg: 'ES256', typ: 'secevent+jwt', kid: keys[0].kid });
    // Nothing that a JWT library would take for an access token, such as sub or exp. @see RFC 8417 section 4.6
    expect(decodeJwt(set)).toEqual({
      iss,
      aud: service.id,
      jti,
      iat: Math.floor(t.ctx.clock() / 1000),
      sub_id: { format: 'complex', user },
      events: { [`${caep}session-revoked`]: { event_timestamp: expect.any(Number) } },
    });
  });

  test('an event verifies with the published keys for as long as events are kept, whatever rotates meanwhile', async () => {
    const { t, service, accessToken } = await start();
    await t.api.call('revoke', { accessToken });
    const [set] = Object.values((await service.ask(now)).body.sets) as [string];
    await rotateSigningKey(t.ctx, { atOnce: false });
    t.pass(leadSeconds + 60);
    const [renewed] = Object.values((await service.ask(now)).body.sets) as [string];
    expect(decodeProtectedHeader(renewed).kid).not.toBe(decodeProtectedHeader(set).kid);
    t.pass(7 * 86_400 - 120);
    for (const one of [set, renewed])
      expect((await verifiedJwt(t, one, service.id, { typ: 'secevent+jwt' })).payload).toEqual(
        decodeJwt(set),
      );
  });

  // The form of the other events: tests/invariants/operations.test.ts.
  if (dialect === 'postgres') return;

  test.each([
    ['the right users', ['users']],
    ['the right organizations', ['organizations']],
    ['neither', []],
  ] as const)('of a membership, a service with %s learns what it may look up', async (_, rights) => {
    const { t, service, id, iss, user } = await start(...rights);
    const organization = { id: await createOrganization(t.ctx, 'acme', 'Acme'), slug: 'acme' };
    const uri = `${iss}/events/membership-changed`;
    const sees = rights.length > 0;
    const joined = await eventOf(service, () => addMember(t.ctx, 'acme', id, 'admin'));
    expect(joined).toEqual({ uri, payload: sees ? { organization, role: 'admin' } : {}, subject: user });
    const left = await eventOf(service, () => removeMember(t.ctx, 'acme', id, { by: 'operator' }));
    expect(left.payload).toEqual(sees ? { organization, role: null } : {});
  });
});
