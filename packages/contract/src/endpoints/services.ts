import { at, define } from '../endpoint.ts';
import { feedAnswer, feedRequest } from '../feed.ts';
import { introspection, introspectionJwtType, introspectionRequest } from '../services.ts';

export const serviceEndpoints = {
  introspect: define({
    ...at('tokens', 'post', '/introspect'),
    title: 'Introspect a token',
    summary: 'Returns whether a token is active, and whose it is',
    notes: 'For services (RFC 7662). Returns a signed response (RFC 9701) if the Accept header asks for one.',
    access: 'service',
    body: introspectionRequest,
    form: introspectionRequest,
    response: introspection,
    signedAs: introspectionJwtType,
  }),
  readFeed: define({
    ...at('feed', 'post', '/feed'),
    title: 'Read the feed',
    summary: 'Returns what ended or changed: sessions, keys, accounts, memberships and profiles',
    notes:
      'For services, which poll for security event tokens (RFC 8936). Waits for the next event unless returnImmediately is set. Returns gone once if the feed was not read for 7 days, and then starts over; conflict if the service has too many readers.',
    access: 'service',
    rights: ['feed'],
    body: feedRequest,
    bodyOptional: true,
    response: feedAnswer,
    isPolled: true,
    errors: {
      conflict: 'The service has reached its limit of readers.',
      gone: 'The feed was not read for 7 days. The next request starts over.',
    },
  }),
} as const;
