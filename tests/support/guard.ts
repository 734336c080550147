import type { ActiveToken } from '../../packages/client/src/active-token.ts';
import { createGuard, type GuardOptions } from '../../packages/client/src/guard.ts';

/** Seconds since 1970. */
export const now = 1_000_000_000;
export const issuer = async () => 'https://login.example';

/** A guard whose only active token is `lk_at_a`, with these members, and the tokens that it has verified. */
export function guardOf(members: Partial<ActiveToken> = {}, options: Partial<GuardOptions> = {}) {
  const verified: string[] = [];
  const session = members.sub?.startsWith('svc_') ? {} : { sid: 'ses_a' };
  const token: ActiveToken = { active: true, sub: 'usr_a', ...session, exp: now + 600, ...members };
  const verifier: GuardOptions['verifier'] = {
    issuer,
    verify: async (accessToken) => {
      verified.push(accessToken);
      return accessToken === 'lk_at_a' ? token : { active: false };
    },
  };
  const clock = { now: () => now * 1000, sleep: async () => {} };
  return Object.assign(createGuard({ verifier, clock, ...options }), { verified });
}
