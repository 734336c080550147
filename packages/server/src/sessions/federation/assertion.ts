// What a token of an issuer says, before its signature is verified: pure functions.

import { duplicateMember } from '../../platform/values/json.ts';

export const assertionAlgorithms = ['RS256', 'ES256', 'EdDSA'];

/** How far the clocks of the issuer and this service may differ. */
const clockToleranceSeconds = 60;
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

type AssertionError = 'audience' | 'malformed' | 'too_long' | 'expired' | 'not_yet_valid';

/**
 * Why a token is not for this service at this time, and the claim that says so; undefined if it is. `now` is in milliseconds
 * since 1970.
 */
export function assertionError(
  { aud, exp, iat, nbf }: Claims,
  { audience, now }: { readonly audience: string; readonly now: number },
): { readonly reason: AssertionError; readonly claim: string } | undefined {
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  if (audiences.length !== 1 || audiences[0] !== audience) return { reason: 'audience', claim: 'aud' };
  if (!isTime(exp)) return { reason: 'malformed', claim: 'exp' };
  if (!isTime(iat)) return { reason: 'malformed', claim: 'iat' };
  if (!(nbf === undefined || isTime(nbf))) return { reason: 'malformed', claim: 'nbf' };
  if (exp - iat > maxLifetimeSeconds) return { reason: 'too_long', claim: 'exp' };
  const seconds = now / 1000;
  if (exp + clockToleranceSeconds <= seconds) return { reason: 'expired', claim: 'exp' };
  if (iat - clockToleranceSeconds > seconds) return { reason: 'not_yet_valid', claim: 'iat' };
  if (nbf !== undefined && nbf - clockToleranceSeconds > seconds)
    return { reason: 'not_yet_valid', claim: 'nbf' };
  return undefined;
}

const isTime = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);
