// The checker finds each violation that is planted into a history without any.

import { expect, test } from 'bun:test';
import { promises, violationsIn } from './checker.ts';
import type { Delivery, End, History, Outcome, StartedSession, Verification, Write } from './history.ts';

const at = (sentAt: number, endedAt = sentAt + 10) => ({ sentAt, endedAt });

const redemption = (credential: string, sentAt: number, outcome: Outcome, more = {}) => ({
  ...{ ...at(sentAt), credential, group: credential, node: 'n0', idempotencyKey: undefined, outcome },
  ...{ result: outcome === 'done' ? `tokens of ${sentAt}` : undefined, ...more },
});

const refresh = (token: string, sentAt: number, idempotencyKey: string, result?: string) => {
  const outcome = result === undefined ? 'unknown' : 'done';
  return redemption(`refresh token ${token}`, sentAt, outcome, { group: undefined, idempotencyKey, result });
};

const write = (version: number, sentAt: number, outcome: Outcome = 'done'): Write => ({
  ...{ ...at(sentAt), account: 1, version, outcome },
});
const read = (version: number, sentAt: number) => ({ ...at(sentAt), account: 1, node: 'n1', version });

const delivery = (id: string, sentAt: number): Delivery => ({ id, messageId: `<${id}>`, at: sentAt });
const mail = (id: string, sentAt: number, address = 'a@x') => ({ id, address, sentAt });
const spending = (sentAt: number, key = 'a@x') => ({ ...at(sentAt), budget: 'emails by pair' as const, key });
const kill = { name: 'kill', mayRepeatMails: true, startedAt: 110, endedAt: 200 };

const session = (id: number, path: number[], endedAt: number): StartedSession => ({
  ...{ id, account: 1, path, sentAt: endedAt - 5, endedAt },
});
const end = (of: number | undefined, sentAt: number, endedAt: number, outcome: Outcome = 'done'): End => ({
  ...{ how: of === undefined ? 'all' : 'own', account: 1, session: of, sentAt, endedAt, outcome },
});
const verified = (by: Verification['by'], of: number, sentAt: number, isAccepted: boolean) => ({
  ...{ by, name: 'a', session: of, ...at(sentAt, sentAt + 4), isAccepted },
});
const reading = (...events: string[]) => ({ reader: 'r', events });

/**
 * Operations without an answer included: they may have happened or not. A login 1 has the runs 2, 3 and 4 within each other, a login 5
 * is beside it, a login 6 begins after all had ended, a login 8 while they end, and it is open whether a login 9 has ended.
 */
const good: History = {
  redemptions: [
    redemption('device code 1', 100, 'unknown', { idempotencyKey: 'k' }),
    redemption('device code 1', 120, 'done', { idempotencyKey: 'k', result: 't' }),
    redemption('device code 1', 140, 'done', { idempotencyKey: 'k', result: 't' }),
    redemption('link 1', 200, 'unknown', { group: 'a@x' }),
    redemption('link 1', 220, 'refused', { group: 'a@x' }),
    redemption('link 2', 230, 'done', { group: 'a@x' }),
    redemption('link 3', 240, 'refused', { group: 'a@x' }),
    redemption('assertion 1', 300, 'done'),
    redemption('assertion 1', 301, 'refused'),
    refresh('r1', 100, 'k1'),
    refresh('r1', 120, 'k1', 'r2'),
    refresh('r1', 140, 'k1', 'r2'),
    refresh('r2', 160, 'k2', 'r3'),
    refresh('r2', 160, 'k3'),
    redemption('refresh token r4', 400, 'refused', { group: undefined }),
  ],
  writes: [write(1, 100), write(2, 200, 'unknown'), write(3, 300), write(4, 400, 'refused')],
  reads: [read(0, 50), read(0, 105), read(1, 115), read(3, 305), read(2, 320), read(3, 420)],
  promisedMails: [mail('m1', 100, 'b@x'), mail('m2', 150), mail('m3', 100, 'b@x')],
  deliveries: [
    ...[delivery('m1', 120), delivery('m1', 5_000), delivery('m3', 130)],
    { id: undefined, messageId: '<n>', at: 1 },
  ],
  spendings: [0, 1, 2, 3, 4, 900_000].map((sentAt) => spending(sentAt)),
  faults: [kill],
  logDefects: [],
  sessions: [
    session(1, [1], 10),
    session(2, [2, 1], 20),
    session(3, [3, 2, 1], 30),
    session(4, [4, 3, 2, 1], 40),
    session(5, [5], 50),
    session(6, [6], 9_000),
    session(8, [8], 5_004),
    session(9, [9], 9_000),
  ],
  ends: [end(2, 1_000, 1_010), end(undefined, 5_000, 5_020), end(9, 9_050, 9_060, 'unknown')],
  verifications: [
    verified('node', 4, 990, true),
    verified('node', 4, 1_005, true),
    verified('node', 4, 1_005, false),
    verified('node', 3, 1_011, false),
    verified('node', 1, 1_011, true),
    verified('service', 4, 1_200, true),
    verified('service', 5, 4_000, true),
    verified('service', 5, 7_021, false),
    verified('node', 6, 9_001, true),
    verified('node', 8, 5_100, true),
    verified('node', 8, 5_100, false),
    verified('node', 9, 9_100, true),
    verified('service', 9, 9_100, false),
  ],
  readings: [reading('x'), reading('x', 'y'), reading('y'), reading('z')],
  feed: ['x', 'y', 'z'],
};

type Lists = Omit<History, 'feed' | 'logDefects'>;

/** The good history with more in one of its lists. */
const more = <Name extends keyof Lists>(name: Name, ...entries: History[Name][number][]): History => ({
  ...good,
  [name]: [...good[name], ...entries],
});
const redeemed = (...args: Parameters<typeof redemption>) => more('redemptions', redemption(...args));
const presented = (...args: Parameters<typeof verified>) => more('verifications', verified(...args));
const readAs = (...answers: string[][]): History => ({
  ...good,
  readings: answers.map((events) => reading(...events)),
});
/** The good history with a session 7, whose token a node accepts. */
const withSession = (path: number[], startedAt: number, acceptedAt: number): History => ({
  ...more('verifications', verified('node', 7, acceptedAt, true)),
  sessions: [...good.sessions, session(7, path, startedAt)],
});

test('a history without violations has none, although many of its operations got no answer, and one session started while all ended', () => {
  expect(violationsIn(good)).toEqual([]);
});

/** Each breaks one promise. */
const planted: Record<keyof typeof promises, Record<string, History>> = {
  redeemedTwice: {
    'an assertion that is redeemed twice': redeemed('assertion 1', 310, 'done'),
    'a link that is redeemed twice for the same result': redeemed('link 2', 330, 'done', {
      result: 'tokens of 230',
    }),
    'a device code that is redeemed by two clients': redeemed('device code 1', 150, 'done', {
      idempotencyKey: 'other',
      result: 't',
    }),
    'a device code whose repetition gets other tokens': redeemed('device code 1', 150, 'done', {
      idempotencyKey: 'k',
      result: 'other',
    }),
    'a refresh token with two successors': more('redemptions', refresh('r1', 180, 'k1', 'other')),
    'a refresh token that is used with two keys': more('redemptions', refresh('r2', 180, 'k3', 'r3')),
  },
  refusedWithoutReason: {
    'a link that is refused although nobody has used it': redeemed('link 9', 500, 'refused'),
  },
  lostWrites: {
    'a change that is lost': more('reads', read(1, 500)),
    'a change that was refused and made': more('reads', read(4, 500)),
  },
  lostMails: {
    'a promised email that is never sent': more('promisedMails', mail('m4', 300, 'c@x')),
    'an email that is lost after the sign-in to its address': more('promisedMails', mail('m5', 300)),
  },
  mailsSentTwice: {
    'an email that is sent twice while nothing fails': more(
      'deliveries',
      delivery('m9', 1_000),
      delivery('m9', 1_100),
    ),
    'an email that is sent twice during a fault that excuses nothing': {
      ...good,
      faults: [{ ...kill, mayRepeatMails: false }],
    },
  },
  exceededBudgets: {
    'a budget that is exceeded': more(
      'spendings',
      ...[0, 1, 2, 3, 4, 5].map((sentAt) => spending(sentAt, 'b@x')),
    ),
  },
  logDefects: {
    'a security log that is not whole': { ...good, logDefects: ['usr_1: gap'] },
  },
  wrongVerdicts: {
    'a node that accepts a token after the answer that ended its session': presented('node', 2, 1_011, true),
    'a run at depth 3 that a node accepts after its ancestor ended': presented('node', 4, 1_020, true),
    'a node that accepts a token after all sessions ended': presented('node', 5, 5_030, true),
    'a run that was made while the session it is within ended': withSession([7, 2, 1], 1_020, 1_030),
    'a run that was made in an ended login while all sessions ended': withSession([7, 5], 5_025, 5_030),
    'a service that accepts a token 2.001 s after its session ended': presented('service', 4, 3_011, true),
    'a token that is refused although nothing ended it': presented('service', 6, 9_100, false),
  },
  lostEvents: {
    'an event that a reader never gets': readAs(['x'], ['x', 'y']),
    'an event that a reader gets after a later one': readAs(['y'], ['x'], ['z']),
    'events that are out of order within an answer': readAs(['x'], ['y', 'x'], ['z']),
    'an event that is not in the feed': more('readings', reading('w')),
  },
};

const plants = Object.entries(planted).flatMap(([name, histories]) =>
  Object.entries(histories).map(([what, history]) => [what, name, history] as const),
);

test.each(plants)('the checker finds %s', (_, name, history) => {
  const broken = Object.entries(promises).filter(([, complaintsIn]) => complaintsIn(history).length > 0);
  expect(broken.map(([promise]) => promise)).toEqual([name]);
});
