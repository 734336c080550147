// What a JWT says that somebody shows us as an assertion, apart from its signature: pure functions.
// @see RFC 7523 section 3

import { duplicateMember } from './json.ts';

/** How far the clocks of its issuer and this service may differ. */
const clockToleranceSeconds = 60;

export type Claims = Readonly<Record<string, unknown>>;

/** The claims of a compact JWT; undefined for other text, other base64url and duplicate members. */
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

/** What an assertion has to be for, and for how long. */
interface Expected {
  /** The audiences, one of which must be the only one. */
  readonly audiences: readonly string[];
  /** In milliseconds since 1970. */
  readonly now: number;
  /** The longest time from `iat`, which is needed then, until `exp`. */
  readonly maxLifetimeSeconds?: number;
  /** The longest time from now until `exp`. */
  readonly maxAheadSeconds?: number;
}

/** Why a token is not for this service at this time, and the claim that says so; undefined if it is. */
export function assertionError(
  { aud, exp, iat, nbf }: Claims,
  { audiences, now, maxLifetimeSeconds, maxAheadSeconds = Number.POSITIVE_INFINITY }: Expected,
): { readonly reason: AssertionError; readonly claim: string } | undefined {
  const named: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  if (named.length !== 1 || !audiences.some((audience) => audience === named[0]))
    return { reason: 'audience', claim: 'aud' };
  if (!isTime(exp)) return { reason: 'malformed', claim: 'exp' };
  if (!(isTime(iat) || (iat === undefined && maxLifetimeSeconds === undefined)))
    return { reason: 'malformed', claim: 'iat' };
  if (!(nbf === undefined || isTime(nbf))) return { reason: 'malformed', claim: 'nbf' };
  const seconds = now / 1000;
  if (iat !== undefined && maxLifetimeSeconds !== undefined && exp - iat > maxLifetimeSeconds)
    return { reason: 'too_long', claim: 'exp' };
  if (exp - clockToleranceSeconds - seconds > maxAheadSeconds) return { reason: 'too_long', claim: 'exp' };
  if (exp + clockToleranceSeconds <= seconds) return { reason: 'expired', claim: 'exp' };
  for (const [claim, time] of [['iat', iat] as const, ['nbf', nbf] as const])
    if (time !== undefined && time - clockToleranceSeconds > seconds)
      return { reason: 'not_yet_valid', claim };
  return undefined;
}

const isTime = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);
