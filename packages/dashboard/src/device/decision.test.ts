import { expect, test } from 'bun:test';
import { type Decision, recallDecision } from './decision.ts';

const approval = {
  decision: 'approve',
  userId: 'usr_ada',
  sessionId: 'ses_terminal',
  requestedAt: '2026-01-01T00:00:00.000Z',
  until: 1_767_225_600_000,
} satisfies Decision;
const denial = { decision: 'deny', userId: 'usr_ada' } satisfies Decision;

test.each([approval, denial])('a stored decision is read back: %j', (decision) => {
  expect(recallDecision(decision, 'usr_ada')).toEqual(decision);
  expect(recallDecision({ ...decision, more: 1 }, 'usr_ada')).toEqual(decision);
});

test.each([approval, denial])('a stored decision is not shown to another user: %j', (decision) => {
  expect(recallDecision(decision, 'usr_grace')).toBeUndefined();
});

test.each([
  null,
  undefined,
  'approve',
  {},
  { ...approval, decision: 'other' },
  { ...approval, sessionId: 5 },
  { decision: 'approve', userId: 'usr_ada' },
  { ...approval, requestedAt: 'yesterday' },
  { ...approval, until: '5' },
])('a malformed decision is ignored: %j', (state) => {
  expect(recallDecision(state, 'usr_ada')).toBeUndefined();
});
