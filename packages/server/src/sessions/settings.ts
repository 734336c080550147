import { seconds } from '../platform/config/formats.ts';
import { day, maxTtlSeconds, setting } from '../platform/config/settings.ts';
import type { Rules } from '../platform/rate-limits/rules.ts';

export const sessionSettings = {
  accessTokenTtlSeconds: setting(
    'LATCHKEY_ACCESS_TOKEN_TTL',
    seconds(1, 30 * day),
    14_400,
    'Lifetime of an access token.',
    'your services must drop a leaked token sooner',
  ),
  refreshIdleTtlSeconds: setting(
    'LATCHKEY_REFRESH_IDLE_TTL',
    seconds(1, maxTtlSeconds),
    30 * day,
    'Idle timeout of a session. Must not be longer than `LATCHKEY_SESSION_TTL`; if it is not set, it is never longer.',
    'your policy says so',
  ),
  sessionTtlSeconds: setting(
    'LATCHKEY_SESSION_TTL',
    seconds(1, maxTtlSeconds),
    180 * day,
    'Absolute lifetime of a session.',
    'your policy says so',
  ),
  recentLoginTtlSeconds: setting(
    'LATCHKEY_RECENT_LOGIN_TTL',
    seconds(1, 30 * day),
    900,
    'How long after signing in a sensitive action needs no new sign-in.',
    'your policy says so',
  ),
  refreshReuseLeewaySeconds: setting(
    'LATCHKEY_REFRESH_REUSE_LEEWAY',
    seconds(0, 600),
    10,
    'How long reuse of the refresh token spent last counts as a race and not as a theft, and a form without `Idempotency-Key` can be repeated. 0 is strict.',
    'programs share a stored login without a lock',
  ),
  runIdleTtlSeconds: setting(
    'LATCHKEY_RUN_IDLE_TTL',
    seconds(1, 30 * day),
    3600,
    'Idle timeout of a run that a service refreshes, from the last token on. A run does not end before its token expires. Must not be longer than `LATCHKEY_RUN_TTL`; if it is not set, it is never longer.',
    'work pauses for longer than an hour',
  ),
  runTtlSeconds: setting(
    'LATCHKEY_RUN_TTL',
    seconds(1, 30 * day),
    day,
    'Absolute lifetime of a run.',
    'work takes longer than a day',
  ),
};

export const sessionLimits = {
  refreshes: {
    quota: 600,
    windowSeconds: 60,
    shared: false,
    description: 'Refreshes, by session, so that many people behind one address do not affect each other.',
  },
} as const satisfies Rules;
