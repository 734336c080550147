// Runs, made as services, programs and pages make them.

import { expect } from 'bun:test';
import type { IssuedToken } from '@latchkey/contract/tokens';
import type { Dialect } from '../../packages/server/src/platform/database/executor.ts';
import type { Registration } from '../../packages/server/src/services/registration.ts';
import { outcome } from './account.ts';
import { type Answer, type AppOptions, sharedNodes, type TestApp } from './app.ts';
import { exchangeForm } from './http.ts';
import { declareService } from './services.ts';
import { shared } from './shared.ts';

/** The parameters of an exchange, and who sends it. */
export interface Exchange {
  /** The `Authorization` header of a service. */
  readonly by?: string | undefined;
  readonly cookie?: string;
  readonly headers?: Record<string, string>;
  readonly [parameter: string]: unknown;
}

/** Exchanges a token, or with a `cookie` none, as a form. Values that are not text are sent as JSON. */
export function exchange(
  app: TestApp,
  token: string | undefined,
  { by, cookie, headers, ...parameters }: Exchange = {},
): Promise<Answer> {
  const form = {
    ...exchangeForm(token),
    ...Object.fromEntries(
      Object.entries(parameters).map(([name, value]) => [
        name,
        typeof value === 'string' ? value : JSON.stringify(value),
      ]),
    ),
  };
  return app.ask('POST', '/token', {
    form,
    headers: { ...headers, ...(by === undefined ? {} : { Authorization: by }) },
    ...(cookie === undefined ? {} : { cookie }),
  });
}

/** The tokens of a run, which must be made. */
export async function startedRun(
  app: TestApp,
  token: string | undefined,
  wants: Exchange = {},
): Promise<IssuedToken & { readonly refresh_token: string }> {
  const answer = await exchange(app, token, wants);
  expect(outcome(answer)).toBe('200');
  return answer.body;
}

export const introspected = async (app: TestApp, token: string, by: string) =>
  (await app.ask('POST', '/introspect', { json: { token }, headers: { Authorization: by } })).body;

/** The id of the session or run of a token. */
export const idOf = async (app: TestApp, token: string, by: string): Promise<string> =>
  (await introspected(app, token, by)).sid;

/** Refreshes a run as a service, or with `by: undefined` as somebody without a service key. */
export const refreshRun = (
  app: TestApp,
  refresh_token: string,
  by: string | undefined,
  more: Record<string, string> = {},
): Promise<Answer> =>
  app.ask('POST', '/token', {
    form: { grant_type: 'refresh_token', refresh_token, ...more },
    headers: by === undefined ? {} : { Authorization: by },
  });

export const agentsUri = 'https://agents.example/api';
export const ticketsUri = 'https://tickets.example/api';

/**
 * Two nodes and services that may delegate, for the tests of a block: the agents reach the tickets, which declare scopes, and the
 * builds have no resource. `facts` is what introspection tells one of them, by default the tickets.
 */
export function runScene(open: (options?: AppOptions) => Promise<TestApp>, dialect: Dialect) {
  const { app, node } = sharedNodes(open, dialect);
  const service = (name: string, declared: Partial<Registration> = {}) =>
    shared(() => declareService(app.ctx, { name, rights: ['delegate'], ...declared }));
  const scopes = ['tickets:read', 'tickets:write'].map((name) => ({ name, sentence: `Do ${name}` }));
  const tickets = service('Tickets', { resource: ticketsUri, scopes });
  return {
    app,
    node,
    tickets,
    agents: service('Agents', { resource: agentsUri, reach: [ticketsUri] }),
    builds: service('Builds'),
    run: (token: string | undefined, wants: Exchange = {}) => startedRun(app, token, wants),
    facts: (token: string, by = tickets) => introspected(node, token, by.authorization),
    idFor: (token: string) => idOf(app, token, tickets.authorization),
  };
}

/** Copies a session or run, with these columns changed: SQL in which `i` is the number of the copy, from 1. */
export async function copySession(
  { ctx: { db } }: TestApp,
  id: string,
  count: number,
  changed: Record<string, string> = {},
): Promise<void> {
  const [row] = await db.read.run<object>(`SELECT * FROM sessions WHERE id = '${id}'`, []);
  const same = Object.fromEntries(Object.keys(row!).map((column) => [column, `s.${column}`]));
  const copied = { ...same, id: "s.id || '-' || i", ...changed };
  await db.single.run(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
     INSERT INTO sessions (${Object.keys(copied).join(', ')}) SELECT ${Object.values(copied).join(', ')}
     FROM sessions s, n WHERE s.id = '${id}'`,
    [],
  );
}
