import { issuers, seconds } from '../platform/config/formats.ts';
import { day, maxTtlSeconds, setting } from '../platform/config/settings.ts';
import { nodeLimit, type Rules, sharedLimit } from '../platform/rate-limits/limiter.ts';

export const sessionSettings = {
  accessTokenTtlSeconds: setting(
    'LATCHKEY_ACCESS_TOKEN_TTL',
    seconds(1, 30 * day),
    14_400,
    'Lifetime of an access token.',
  ),
  refreshIdleTtlSeconds: setting(
    'LATCHKEY_REFRESH_IDLE_TTL',
    seconds(1, maxTtlSeconds),
    30 * day,
    'Idle timeout of a session, at most `LATCHKEY_SESSION_TTL`.',
  ),
  sessionTtlSeconds: setting(
    'LATCHKEY_SESSION_TTL',
    seconds(1, maxTtlSeconds),
    180 * day,
    'Absolute lifetime of a session.',
  ),
  recentLoginTtlSeconds: setting(
    'LATCHKEY_RECENT_LOGIN_TTL',
    seconds(1, 30 * day),
    900,
    'How long after signing in a sensitive action needs no new sign-in.',
  ),
  refreshReuseLeewaySeconds: setting(
    'LATCHKEY_REFRESH_REUSE_LEEWAY',
    seconds(0, 600),
    10,
    'How long reuse of the refresh token spent last counts as a race and not as a theft, and a form without `Idempotency-Key` can be repeated. 0 is strict.',
  ),
  runIdleTtlSeconds: setting(
    'LATCHKEY_RUN_IDLE_TTL',
    seconds(1, 30 * day),
    3600,
    'Idle timeout of a run that a service refreshes, at most `LATCHKEY_RUN_TTL`. A run does not end before its token expires.',
  ),
  runTtlSeconds: setting('LATCHKEY_RUN_TTL', seconds(1, 30 * day), day, 'Absolute lifetime of a run.'),
  trustedIssuers: setting(
    'LATCHKEY_TRUSTED_ISSUERS',
    issuers,
    '',
    'OpenID Connect issuers whose tokens keys may trust, so that jobs need no secret. A loopback host needs a loopback base URL.',
  ),
};

export const sessionLimits = {
  account_changes: sharedLimit(
    60,
    60,
    'Changes to the profile, to names of passkeys and to keys, by account.',
  ),
  refreshes: nodeLimit(
    600,
    60,
    'Refreshes, by session, so that many people behind one address do not affect each other.',
  ),
  runs: sharedLimit(1200, 60, 'Runs made, by the session or key at their root.'),
} satisfies Rules;
