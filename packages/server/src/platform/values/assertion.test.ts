import { expect, test } from 'bun:test';
import { assertionError, type Claims, readClaims } from './assertion.ts';

const [now, day] = [1_800_000_000, 86_400];
const ours = 'https://login.example';
const errorOf = (changed: Claims, limits: { maxLifetimeSeconds?: number; maxAheadSeconds?: number }) => {
  const claims = { aud: ours, iat: now, exp: now + 300, ...changed };
  return assertionError(claims, { audiences: [ours, `${ours}/token`], now: now * 1000, ...limits });
};
const ofIssuer = { maxLifetimeSeconds: day };
const ofClient = { maxAheadSeconds: 300 };

test.each<[Claims, string, string, object?]>([
  [{ aud: undefined }, 'audience', 'aud'],
  [{ aud: 'https://cloud.example' }, 'audience', 'aud'],
  [{ aud: [ours, 'https://cloud.example'] }, 'audience', 'aud'],
  [{ aud: [ours, ours] }, 'audience', 'aud'],
  [{ aud: [] }, 'audience', 'aud'],
  [{ aud: `${ours}/` }, 'audience', 'aud'],
  [{ exp: now - 60 }, 'expired', 'exp'],
  [{ exp: now + day + 1 }, 'too_long', 'exp'],
  [{ exp: now + 361 }, 'too_long', 'exp', ofClient],
  [{ iat: now + 61 }, 'not_yet_valid', 'iat'],
  [{ nbf: now + 61 }, 'not_yet_valid', 'nbf'],
  [{ exp: undefined }, 'malformed', 'exp'],
  [{ exp: `${now + 60}` }, 'malformed', 'exp'],
  [{ iat: undefined }, 'malformed', 'iat'],
  [{ iat: `${now}` }, 'malformed', 'iat'],
  [{ nbf: Number.NaN }, 'malformed', 'nbf'],
])('an assertion with %j is refused: %s of %s', (changed, reason, claim, limits = ofIssuer) => {
  expect(errorOf(changed, limits)).toEqual({ reason, claim } as ReturnType<typeof errorOf>);
});

test('an assertion is good at the edges of the tolerance of a minute, for each audience', () => {
  for (const changed of [
    { exp: now - 59 },
    { exp: now + day },
    { iat: now + 60, nbf: now + 60 },
    { aud: [ours] },
    { aud: `${ours}/token` },
  ])
    expect([changed, errorOf(changed, ofIssuer)]).toEqual([changed, undefined]);
  expect(errorOf({ exp: now + 360, iat: undefined }, ofClient)).toBeUndefined();
});

test('claims are read from a JWT in the one spelling that an encoder writes, with each name once', () => {
  const encoded = (text: string | Uint8Array) => Buffer.from(text).toString('base64url');
  const head = encoded('{"alg":"RS256"}');
  const token = `${head}.${encoded('{"sub":"a"}')}.c2ln`;
  expect(readClaims(token)).toEqual({ sub: 'a' });
  for (const wrong of [
    'assertion',
    'a.b.c',
    `${token}==`,
    token.replace(/.{2}$/, '\n$&'),
    `${token}.a.b`,
    `${head}.${encoded('{"sub":"b","sub":"a"}')}.c2ln`,
    `${encoded('{"alg":"none","alg":"RS256"}')}.${encoded('{}')}.c2ln`,
    `${head}.${encoded('["a"]')}.c2ln`,
    `${head}.${encoded(Uint8Array.of(0x7b, 0xff, 0x7d))}.c2ln`,
  ])
    expect([wrong, readClaims(wrong)]).toEqual([wrong, undefined]);
});
