// What the page says after an approval, from what each poll finds.

import { expect, setSystemTime, test } from 'bun:test';
import { type ApprovalStatus, type Watched, watchApproval } from './approval-status.ts';

const start = Date.parse('2026-01-01T00:00:00.000Z');
const approval = {
  sessionId: 'ses_terminal',
  requestedAt: new Date(start).toISOString(),
  until: start + 600_000,
};

type Log = Awaited<ReturnType<Watched['listEventsSince']>>;
/** With only what a poll reads of an event. */
const log = (...events: object[]) => ({ ok: true, value: { events, isComplete: true } }) as Log;
const event = (type: string, detail = {}) => ({ type, session_id: approval.sessionId, detail });
const failed = (code: 'unreachable' | 'invalid_token' | 'somebody_else', retryAfterSeconds?: number) =>
  ({ ok: false, problem: { code, retryAfterSeconds } }) as const;

/** Polls until the page shows a final status, with one answer for each poll; the last one repeats. */
async function watch(answers: Log[], startsAt = start) {
  const shown: ApprovalStatus[] = [];
  const pauses: number[] = [];
  let now = startsAt;
  const pass = async (ms: number) => {
    now += ms;
    setSystemTime(now);
  };
  await pass(0);
  let polls = 0;
  await watchApproval(approval, (status) => shown.at(-1) !== status && shown.push(status), {
    listEventsSince: async () => answers[Math.min(polls++, answers.length - 1)]!,
    untilVisible: async () => {},
    pause: (ms) => {
      pauses.push(ms);
      return pass(ms);
    },
  }).finally(() => setSystemTime());
  return { shown, pauses, polls };
}

test.each([
  ['deviceSignedIn', [event('login')]],
  ['sessionEnded', [event('session_revoked'), event('login')]],
  ['sessionEnded', [event('refresh_theft'), event('login')]],
  ['withdrawn', [event('device_withdrawn', { reason: 'withdrawn' })]],
  ['cancelled', [event('device_withdrawn', { reason: 'cancelled' })]],
])('an approval ends as %s once the log has %j', async (status, events) => {
  const other = { ...event('login'), session_id: 'ses_other' };
  const { shown, polls } = await watch([log(other), log(...events, other)]);
  expect([shown, polls]).toEqual([['waiting', status as ApprovalStatus], 2]);
});

test.each([
  ['signedOut', 'invalid_token'],
  ['differentUser', 'somebody_else'],
] as const)(
  '%s needs two polls in a row, because another tab may replace the session between two',
  async (status, code) => {
    const replaced = await watch([failed(code), log(), failed(code), log(event('login'))]);
    expect(replaced.shown).toEqual(['waiting', 'deviceSignedIn']);
    const ended = await watch([log(), failed(code)]);
    expect([ended.shown, ended.polls]).toEqual([['waiting', status], 3]);
  },
);

test('a lost connection is shown while it lasts, and Retry-After is kept', async () => {
  const { shown, pauses } = await watch([
    failed('unreachable', 7),
    failed('unreachable'),
    log(),
    log(event('login')),
  ]);
  expect(shown).toEqual(['waiting', 'unreachable', 'waiting', 'deviceSignedIn']);
  expect(pauses).toEqual([7_000, 2_000, 2_000]);
});

test('a code that expired is said to have expired only after a poll that could see a sign-in', async () => {
  const startsAt = approval.until - 1;
  expect((await watch([log()], startsAt)).shown).toEqual(['waiting', 'expired']);
  expect((await watch([log(), log(event('login'))], startsAt)).shown).toEqual(['waiting', 'deviceSignedIn']);
  const lost = await watch([failed('unreachable')], startsAt);
  expect([lost.shown, lost.polls]).toEqual([['waiting', 'unreachable', 'unknown'], 6]);
});

test('of a log that is too long to read nothing is claimed', async () => {
  const cut = { ok: true, value: { events: [], isComplete: false } } as Log;
  expect((await watch([cut], approval.until)).shown).toEqual(['waiting', 'unknown']);
});
