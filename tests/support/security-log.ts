// The security log: of an account, as its owner reads it, and all of it, as an audit finds it.

import { expect } from 'bun:test';
import type { Event } from '@latchkey/contract/events';
import { auditLogs } from '../../packages/server/src/security-log/events/auditing.ts';
import { recordEvent } from '../../packages/server/src/security-log/events/events.ts';
import type { TestApp, Tokens } from './app.ts';
import type { Access, Service } from './driver.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary details
export type LoggedEvent = Omit<Event, 'detail'> & { readonly detail: any };

/** The tokens of a new login by mail, and whose they are. */
export async function signedIn(app: TestApp, email?: string): Promise<Tokens & { userId: string }> {
  const tokens = await app.login(email);
  const { body } = await app.ask('GET', '/me', { token: tokens.access_token });
  return { ...tokens, userId: body.id };
}

/** Adds so many events to the log of an account. */
export const logMore = (app: TestApp, userId: string, count: number): Promise<void> =>
  app.ctx.db.transaction(async (tx) => {
    for (let n = 0; n < count; n++) await recordEvent(app.ctx, tx, { type: 'login', userId });
  });

/** Changes the profile of the person who signed in. */
export const patchMe = (app: Service, { access_token: token }: Access, json: object) =>
  app.ask('PATCH', '/me', { token, json });

/** The events of an account, newest first: those of a type, or all. */
export async function loggedEvents(
  app: TestApp,
  { access_token: token }: Access,
  ofType?: string,
): Promise<LoggedEvent[]> {
  const { status, body } = await app.ask('GET', '/events?limit=100', { token });
  expect(status).toBe(200);
  return body.events.filter(({ type }: LoggedEvent) => type === (ofType ?? type));
}

/** How many events of a type all logs have. */
export const countEvents = async (app: TestApp, type: string): Promise<number> =>
  (await app.ctx.db.read.run(`SELECT id FROM events WHERE type = '${type}'`, [])).length;

/** The findings in all logs, and how many events were audited. */
export async function auditAll(app: TestApp): Promise<{ problems: string[]; events: number }> {
  const audits = (await Array.fromAsync(auditLogs(app.ctx, undefined))).map(({ audit }) => audit);
  return {
    problems: audits.flatMap(({ findings }) => findings.map(({ problem, where }) => `${problem}: ${where}`)),
    events: audits.reduce((sum, { events }) => sum + events, 0),
  };
}

export const expectIntact = async (app: TestApp): Promise<void> =>
  expect((await auditAll(app)).problems).toEqual([]);
