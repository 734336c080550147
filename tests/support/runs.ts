// Runs, made as services, programs and pages make them.

import { expect } from 'bun:test';
import type { IssuedToken } from '@latchkey/contract/tokens';
import { outcome } from './account.ts';
import type { Answer, TestApp } from './app.ts';

const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange';
export const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';

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
    grant_type: exchangeGrant,
    ...(token === undefined ? {} : { subject_token: token, subject_token_type: accessTokenType }),
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
