// The checker finds each violation that is planted into a history without any.

import { expect, test } from 'bun:test';
import { excusedMails, violationsIn } from './checker.ts';
import type {
  Delivery,
  FaultHistory,
  Outcome,
  Redemption,
  Refresh,
  SessionHistory,
  Write,
} from './history.ts';

const at = (sentAt: number) => ({ sentAt, endedAt: sentAt + 10 });

const redemption = (credential: string, sentAt: number, outcome: Outcome, more = {}): Redemption => ({
  ...at(sentAt),
  credential,
  group: credential,
  node: 'n0',
  idempotencyKey: undefined,
  outcome,
  result: outcome === 'done' ? `tokens of ${sentAt}` : undefined,
  ...more,
});

const refresh = (refreshToken: string, sentAt: number, key: string, successor?: string): Refresh => ({
  ...at(sentAt),
  refreshToken,
  node: 'n0',
  idempotencyKey: key,
  outcome: successor === undefined ? 'unknown' : 'done',
  successor,
});

const write = (version: number, sentAt: number, outcome: Outcome = 'done'): Write => ({
  ...at(sentAt),
  account: 1,
  version,
  outcome,
});

const read = (version: number, sentAt: number) => ({ ...at(sentAt), account: 1, node: 'n1', version });

const delivery = (id: string, sentAt: number, messageId = `<${id}>`): Delivery => ({
  id,
  messageId,
  at: sentAt,
});

const mail = (id: string, sentAt: number, address = 'a@x') => ({ id, address, sentAt });

const spending = (sentAt: number) => ({ ...at(sentAt), budget: 'emails', key: 'a@x' });

const kill = (startedAt: number, endedAt: number) => ({
  name: 'kill',
  mayRepeatMails: true,
  startedAt,
  endedAt,
});

const noSessions: SessionHistory = {
  ...{ sessions: [], tokens: [], ends: [], verifications: [], readings: [], feed: [] },
};

/** Operations without an answer included: they may have happened or not. */
const good: FaultHistory = {
  sessions: noSessions,
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
  ],
  refreshes: [
    refresh('r1', 100, 'k1'),
    refresh('r1', 120, 'k1', 'r2'),
    refresh('r1', 140, 'k1', 'r2'),
    refresh('r2', 160, 'k2', 'r3'),
    refresh('r2', 160, 'k3'),
  ],
  writes: [write(1, 100), write(2, 200, 'unknown'), write(3, 300), write(4, 400, 'refused')],
  reads: [read(0, 50), read(0, 105), read(1, 115), read(3, 305), read(2, 320), read(3, 420)],
  promisedMails: [mail('m1', 100, 'b@x'), mail('m2', 150), mail('m3', 100, 'b@x')],
  deliveries: [
    delivery('m1', 120),
    delivery('m1', 5_000),
    delivery('m3', 130),
    { id: undefined, messageId: '<n>', at: 1 },
  ],
  spendings: [spending(0), spending(10), spending(2_000)],
  budgets: { emails: { quota: 2, windowMs: 1_000 } },
  faults: [kill(110, 200)],
  logDefects: [],
};

test('a history without violations has none, although many of its operations got no answer', () => {
  expect(violationsIn(good)).toEqual([]);
  expect(excusedMails(good)).toBe(1);
});

const planted: Record<string, readonly [FaultHistory, string]> = {
  'what its checker of sessions finds': [
    { ...good, sessions: { ...noSessions, readings: [{ reader: 'r', events: ['w'] }] } },
    'reader r got the event w, which is not in the feed',
  ],
  'an assertion that is redeemed twice': [
    { ...good, redemptions: [...good.redemptions, redemption('assertion 1', 310, 'done')] },
    'assertion 1 was redeemed 2 times, distinct results: 2',
  ],
  'a link that is redeemed twice, even if the results are the same': [
    {
      ...good,
      redemptions: [
        redemption('link 2', 230, 'done', { result: 't' }),
        redemption('link 2', 330, 'done', { result: 't' }),
      ],
    },
    'link 2 was redeemed 2 times, distinct results: 1',
  ],
  'a device code that is redeemed by two clients': [
    {
      ...good,
      redemptions: [
        ...good.redemptions,
        redemption('device code 1', 150, 'done', { idempotencyKey: 'other', result: 't' }),
      ],
    },
    'device code 1 was redeemed 3 times, distinct results: 1',
  ],
  'a device code whose repetition gets other tokens': [
    {
      ...good,
      redemptions: [
        ...good.redemptions,
        redemption('device code 1', 150, 'done', { idempotencyKey: 'k', result: 'other' }),
      ],
    },
    'device code 1 was redeemed 3 times, distinct results: 2',
  ],
  'a link that is refused although nobody has used it': [
    { ...good, redemptions: [...good.redemptions, redemption('link 9', 500, 'refused')] },
    'n0 refused link 9, which nothing had redeemed',
  ],
  'a refresh token with two successors': [
    { ...good, refreshes: [...good.refreshes, refresh('r1', 180, 'k1', 'other')] },
    'refresh token r1 got 2 successors',
  ],
  'a refresh token that is used with two keys': [
    { ...good, refreshes: [...good.refreshes, refresh('r2', 180, 'k3', 'r3')] },
    'refresh token r2 was used with 2 keys',
  ],
  'a change that is lost': [
    { ...good, reads: [...good.reads, read(1, 500)] },
    'n1 showed change 1 of account 1 after change 3',
  ],
  'a change that was refused and made': [
    { ...good, reads: [...good.reads, read(4, 500)] },
    'n1 showed change 4 of account 1, which was never made',
  ],
  'a promised email that is never sent': [
    { ...good, promisedMails: [...good.promisedMails, mail('m4', 300, 'c@x')] },
    'the email m4 to c@x was promised and never sent',
  ],
  'an email that is lost after the sign-in to its address': [
    { ...good, promisedMails: [...good.promisedMails, mail('m5', 300)] },
    'the email m5 to a@x was promised and never sent',
  ],
  'an email that is sent twice while nothing fails': [
    { ...good, deliveries: [...good.deliveries, delivery('m9', 1_000), delivery('m9', 1_100)] },
    'the email <m9> was sent 2 times within 100 ms, without a fault that excuses it (last: kill)',
  ],
  'an email that is sent twice during a fault that excuses nothing': [
    { ...good, faults: [{ ...kill(110, 200), mayRepeatMails: false }] },
    'the email <m1> was sent 2 times within 4880 ms, without a fault that excuses it (last: kill)',
  ],
  'a budget that is exceeded': [
    { ...good, spendings: [spending(0), spending(10), spending(20)] },
    'emails of a@x: 3 requests, of 2 allowed',
  ],
  'a security log that is not whole': [
    { ...good, logDefects: ['usr_1: gap'] },
    'the security log is not whole: usr_1: gap',
  ],
};

for (const [what, [history, complaint]] of Object.entries(planted))
  test(`the checker finds ${what}`, () => expect(violationsIn(history)).toContain(complaint));
