// Tokens of the service as others verify them: with its published keys, and a library that knows nothing of Latchkey.

import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyOptions, jwtVerify } from 'jose';
import type { TestApp } from './app.ts';

/** What a token of the service for this audience says, by the clock of the service. */
export async function verifiedJwt(
  app: TestApp,
  token: string,
  audience: string,
  more: JWTVerifyOptions = {},
) {
  const keys = (await app.ask('GET', '.well-known/jwks.json')).body as JSONWebKeySet;
  const [issuer, currentDate] = [app.ctx.config.baseUrl, new Date(app.ctx.clock())];
  return jwtVerify(token, createLocalJWKSet(keys), { audience, issuer, currentDate, ...more });
}
