// The checker finds each violation that is planted into a history without any.

import { expect, test } from 'bun:test';
import type { End, Reading, SessionHistory, StartedSession, Verification } from './history.ts';
import { violationsIn } from './session-checker.ts';

const session = (id: number, path: number[], at: number, account = 1): StartedSession => ({
  id,
  account,
  path,
  sentAt: at - 5,
  answeredAt: at,
});

const end = (session: number | undefined, sentAt: number, answeredAt: number | undefined): End => ({
  how: session === undefined ? 'all' : 'own',
  account: 1,
  session,
  sentAt,
  answeredAt,
});

const verification = (
  by: Verification['by'],
  token: number,
  at: number,
  isAccepted: boolean,
): Verification => ({ by, name: 'a', token, sentAt: at, answeredAt: at + 4, isAccepted });

const reading = (...events: string[]): Reading => ({ reader: 'r', events });

/** A login 1 with the runs 2, 3 and 4 within each other, a login 5 beside it, and a login 6 after all had ended. */
const good: SessionHistory = {
  sessions: [
    session(1, [1], 10),
    session(2, [2, 1], 20),
    session(3, [3, 2, 1], 30),
    session(4, [4, 3, 2, 1], 40),
    session(5, [5], 50),
    session(6, [6], 9_000),
  ],
  tokens: [1, 2, 3, 4, 5, 6].map((id) => ({ id, session: id })),
  ends: [end(2, 1_000, 1_010), end(undefined, 5_000, 5_020)],
  verifications: [
    verification('node', 4, 990, true),
    verification('node', 4, 1_005, true),
    verification('node', 4, 1_005, false),
    verification('node', 3, 1_011, false),
    verification('node', 1, 1_011, true),
    verification('service', 4, 1_200, true),
    verification('service', 5, 4_000, true),
    verification('service', 5, 7_021, false),
    verification('node', 6, 9_001, true),
  ],
  readings: [reading('x'), reading('x', 'y'), reading('y'), reading('z')],
  feed: ['x', 'y', 'z'],
};

const verifying = (...more: Verification[]): SessionHistory => ({
  ...good,
  verifications: [...good.verifications, ...more],
});
const reading_ = (...readings: Reading[]): SessionHistory => ({ ...good, readings });

test('a history without violations has none', () => {
  expect(violationsIn(good)).toEqual([]);
});

const planted: Record<string, readonly [SessionHistory, string]> = {
  'a node that accepts a token after the answer that ended it': [
    verifying(verification('node', 2, 1_011, true)),
    'node a accepted token 2 1 ms after it had ended (own)',
  ],
  'a node that accepts a run of depth 3 after the end of what it is within': [
    verifying(verification('node', 4, 1_020, true)),
    'node a accepted token 4 10 ms after it had ended (own)',
  ],
  'a node that accepts a token after all sessions ended': [
    verifying(verification('node', 5, 5_030, true)),
    'node a accepted token 5 10 ms after it had ended (all)',
  ],
  'a run that was made while the session it is within ended': [
    {
      ...verifying(verification('node', 7, 1_030, true)),
      sessions: [...good.sessions, session(7, [7, 2, 1], 1_020)],
      tokens: [...good.tokens, { id: 7, session: 7 }],
    },
    'node a accepted token 7 20 ms after it had ended (own)',
  ],
  'a run that was made in an ended login while all sessions ended': [
    {
      ...verifying(verification('node', 7, 5_030, true)),
      sessions: [...good.sessions, session(7, [7, 5], 5_025)],
      tokens: [...good.tokens, { id: 7, session: 7 }],
    },
    'node a accepted token 7 10 ms after it had ended (all)',
  ],
  'a service that accepts a token more than 2 s after the answer that ended it': [
    verifying(verification('service', 4, 3_011, true)),
    'service a accepted token 4 2001 ms after it had ended (own)',
  ],
  'a token that is refused although nothing ended it': [
    verifying(verification('service', 6, 9_100, false)),
    'service a refused token 6, which nothing had ended',
  ],
  'an event that a reader never gets': [
    reading_(...good.readings.slice(0, 3)),
    'reader r never got 1 events',
  ],
  'an event that a reader gets after a later one': [
    reading_(reading('y'), reading('x'), reading('z')),
    'reader r got event 1 (y) where 0 was next',
  ],
  'events that are out of order within an answer': [
    reading_(reading('x'), reading('y', 'x'), reading('z')),
    'reader r got x out of order within an answer',
  ],
  'an event that is not in the feed': [
    reading_(...good.readings, reading('w')),
    'reader r got the event w, which is not in the feed',
  ],
};

for (const [what, [history, complaint]] of Object.entries(planted))
  test(`the checker finds ${what}`, () => expect(violationsIn(history)).toContain(complaint));

test('an end without an answer proves nothing, but may explain a refusal', () => {
  const lost = { ...good, ends: [...good.ends, end(6, 9_050, undefined)] };
  const verifications = [verification('node', 6, 9_100, true), verification('service', 6, 9_100, false)];
  expect(violationsIn({ ...lost, verifications })).toEqual([]);
});

test('a session that is started while all sessions end may have been started after that', () => {
  const history = {
    ...verifying(verification('node', 7, 5_100, true), verification('node', 7, 5_100, false)),
    sessions: [...good.sessions, session(7, [7], 5_004)],
    tokens: [...good.tokens, { id: 7, session: 7 }],
  };
  expect(violationsIn(history)).toEqual([]);
});
