import { expect, test } from 'bun:test';
import { type Decision, parseDecision } from './decision.ts';

const approval = {
  decision: 'approve',
  userId: 'usr_ada',
  sessionId: 'ses_terminal',
  requestedAt: '2026-01-01T00:00:00.000Z',
  until: 1_767_225_600_000,
} satisfies Decision;
const denial = { decision: 'deny', userId: 'usr_ada' } satisfies Decision;

test.each([approval, { ...approval, sessionId: null }, denial])('a decision is told again: %j', (made) => {
  expect(parseDecision(made, 'usr_ada')).toEqual(made);
  expect(parseDecision({ ...made, more: 1 }, 'usr_ada')).toEqual(made);
});

test.each([approval, denial])('a decision is told to nobody else: %j', (made) => {
  expect(parseDecision(made, 'usr_grace')).toBeUndefined();
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
])('what is no decision is none: %j', (state) => {
  expect(parseDecision(state, 'usr_ada')).toBeUndefined();
});
