// What a token of an issuer says, before its signature is verified: pure functions.

import { duplicateMember } from '../../platform/values/json.ts';

export const assertionAlgorithms = ['RS256', 'ES256', 'EdDSA'];

/** How far the clocks of the issuer and this service may differ. */
export const clockToleranceSeconds = 60;
const maxLifetimeSeconds = 86_400;

type Claims = Readonly<Record<string, unknown>>;

/**
 * The claims of a JWT in compact form; undefined for any other text, other base64url than an encoder writes included, and
 * if a name appears twice.
 */
export function readClaims(assertion: string): Claims | undefined {
  const parts = assertion.split('.');
  const decoded = parts.map((part) => Buffer.from(part, 'base64url'));
  if (parts.length !== 3 || decoded.some((bytes, index) => bytes.toString('base64url') !== parts[index]))
    return undefined;
  const [header, claims] = decoded.slice(0, 2).map(readPart);
  return header && claims;
}

function readPart(part: Buffer): Claims | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(part);
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject && duplicateMember(text, value) === undefined ? (value as Claims) : undefined;
  } catch {
    return undefined;
  }
}

/** Why a token is not for this service at this time; undefined if it is. `now` is in milliseconds since 1970. */
export function assertionError(
  { iss, aud, exp, iat, nbf }: Claims,
  { issuer, audience, now }: { readonly issuer: string; readonly audience: string; readonly now: number },
): 'issuer' | 'audience' | 'malformed' | 'too_long' | 'expired' | 'not_yet_valid' | undefined {
  if (iss !== issuer) return 'issuer';
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  if (audiences.length !== 1 || audiences[0] !== audience) return 'audience';
  if (!isTime(exp) || !isTime(iat) || !(nbf === undefined || isTime(nbf))) return 'malformed';
  if (exp - iat > maxLifetimeSeconds) return 'too_long';
  const seconds = now / 1000;
  if (exp + clockToleranceSeconds <= seconds) return 'expired';
  if (Math.max(iat, nbf ?? iat) - clockToleranceSeconds > seconds) return 'not_yet_valid';
  return undefined;
}

const isTime = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);
