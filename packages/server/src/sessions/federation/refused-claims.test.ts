import { expect, test } from 'bun:test';
import { federationGrantType } from '@latchkey/contract/tokens';
import { outcome } from '../../../../../tests/support/account.ts';
import { openApp } from '../../../../../tests/support/app.ts';
import { githubClaims, newSigningKey, startIssuer } from '../../../../../tests/support/issuer.ts';
import { wantedKey } from '../../../../../tests/support/keys.ts';
import { loggedEvents } from '../../../../../tests/support/security-log.ts';

test('a claim of a signed token that does not match is an event of the owner once an hour, without its value', async () => {
  const issuer = await startIssuer();
  const app = await openApp('sqlite', { settings: { LATCHKEY_TRUSTED_ISSUERS: issuer.url } });
  const owner = await app.login();
  const token = owner.access_token;
  const events = () => loggedEvents(app, owner, 'key_refused');
  const { baseUrl } = app.ctx.config;
  const claims = {
    sub: 'repo:ada@1099001/engine@784120233:ref:refs/heads/main',
    repository_id: '784120233',
    repository_owner_id: '1099001',
  };
  const trust = { issuer: issuer.url, claims };
  const { body: key } = await app.ask('POST', '/keys', { token, json: { ...wantedKey, trust } });
  const redeem = async (changed: object, signer = issuer.keys[0]!) => {
    const assertion = await issuer.sign(githubClaims(baseUrl, { ...changed }), {
      now: app.ctx.clock(),
      key: signer,
    });
    const form = { grant_type: federationGrantType, key_id: key.id, assertion, scope: 'profile' };
    return outcome(await app.ask('POST', '/token', { form }));
  };
  const now = Math.floor(app.ctx.clock() / 1000);
  for (const changed of [
    { repository_id: 'a-secret' },
    { repository_id: 'another-secret' },
    { aud: 'https://cloud.example' },
    { exp: now - 61 },
    { nbf: now + 65 },
  ])
    expect(await redeem(changed)).toBe('400 invalid_grant');
  // Whoever knows the id of a key can write nothing.
  expect(await redeem({ repository_owner_id: '3' }, await newSigningKey('RS256', issuer.keys[0]!.kid))).toBe(
    '400 invalid_grant',
  );
  const detail = { key_id: key.id, name: 'build', issuer: issuer.url };
  expect((await events()).map(({ detail }) => detail)).toEqual(
    ['nbf', 'exp', 'aud', 'repository_id'].map((claim) => ({ ...detail, claim })),
  );
  const log = app.logs.join('');
  expect(log).toContain('"reason":"audience","claim":"aud"');
  expect(log + JSON.stringify(await events())).not.toMatch(/-secret|cloud\.example/);
  app.pass(3600);
  await redeem({ repository_id: 'x' });
  expect(await events()).toHaveLength(5);
});
