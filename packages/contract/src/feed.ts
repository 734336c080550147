import { z } from 'zod';
import { at, define } from './endpoint.ts';
import { examples } from './examples.ts';
import { fieldLimits } from './field-limits.ts';
import { described, flag, int, model, text, time, wholeNumber } from './fields.ts';

export type FeedEventType =
  | 'session-revoked'
  | 'credential-change'
  | 'account-disabled'
  | 'account-enabled'
  | 'account-purged'
  | 'membership-changed'
  | 'profile-changed';

/** The `typ` of a security event token. @see RFC 8417 section 2.3 */
export const setType = 'secevent+jwt';

const jti = text(fieldLimits.jti);

/** Why a service could not process an event. @see RFC 8936 section 2.6 */
const setError = z.object({
  err: described(text(fieldLimits.clientText), 'The error code (RFC 8936 section 2.4.4).', 'invalid_key'),
  description: described(
    text(fieldLimits.setErrorDescription).optional(),
    'What went wrong, for a developer.',
    'No key with this kid.',
  ),
});

/** @see RFC 8936 section 2.4 */
const feedRequest = z
  .object({
    maxEvents: described(
      wholeNumber(0, fieldLimits.feedEvents).default(fieldLimits.defaultFeedEvents),
      'Maximum number of events. 0 only acknowledges.',
      100,
    ),
    returnImmediately: described(z.boolean().default(false), 'Do not wait if there are no events.', true),
    ack: described(
      z.array(jti).max(fieldLimits.feedAcknowledgements).default([]),
      'The jti of each event that was processed. All others come again.',
      [examples.jti],
    ),
    setErrs: described(
      z
        .record(jti, setError)
        .refine(
          (errors) => Object.keys(errors).length <= fieldLimits.feedAcknowledgements,
          `must have at most ${fieldLimits.feedAcknowledgements} members`,
        )
        .default({}),
      'The events that could not be processed, by jti. They do not come again.',
      { [examples.jti]: { err: 'invalid_key', description: 'No key with this kid.' } },
    ),
    reader: described(
      z
        .string()
        .regex(
          new RegExp(`^[A-Za-z0-9_-]{1,${fieldLimits.feedReader}}$`),
          'must be 1-64 characters of A-Za-z0-9_-',
        )
        .optional(),
      'The name of one of several readers. Each gets all events since its first request and acknowledges for itself.',
      'worker-1',
    ),
  })
  .meta({ examples: [{ maxEvents: 100, ack: [examples.jti] }] });
export type FeedRequest = z.output<typeof feedRequest>;

const feedAnswer = model('FeedAnswer', 'RFC 8936 section 2.3', {
  sets: described(
    z.record(z.string(), z.string()),
    'Security event tokens (RFC 8417) by jti, oldest first.',
    {
      [examples.jti]:
        'eyJ0eXAiOiJzZWNldmVudCtqd3QiLCJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJodHRwczovL2xvZ2luLmV4YW1wbGUifQ.c2ln',
    },
  ),
  moreAvailable: flag('Whether more events are waiting. If so, ask again at once.', false),
  through: described(
    time,
    'Every event from before this moment is in this answer or an earlier one, or was acknowledged.',
  ),
  after: int('The time from the arrival of the request to `through` in milliseconds. May be negative.', 42),
  begun: described(z.literal(true).optional(), 'The reader begins here: it gets no earlier events.'),
});
export type FeedAnswer = z.infer<typeof feedAnswer>;

export const feedEndpoints = {
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
