// Keys, and the scopes and resources of services that they can be limited to.

import { Database } from 'bun:sqlite';
import { expect } from 'bun:test';
import { join } from 'node:path';
import type { CreatedKey, NewKey } from '@latchkey/contract/keys';
import { outcome } from './account.ts';
import type { TestApp, Tokens } from './app.ts';
import { runOperator, type TestService } from './service.ts';

export const wantedKey: NewKey = { name: 'build', scope: '*', expires_in: 86_400 };

/** Creates a key that may do everything for a day, unless `wants` says otherwise. */
export async function createdKey(
  app: TestApp,
  { access_token: token }: Tokens,
  wants: Partial<NewKey> = {},
): Promise<CreatedKey> {
  const answer = await app.ask('POST', '/keys', { token, json: { ...wantedKey, ...wants } });
  expect(outcome(answer)).toBe('201');
  return answer.body;
}

/** Stores that a service declares a scope, with its sentence, or a resource, without one. */
export const declare = (app: TestApp, service: string, name: string, sentence?: string) =>
  app.ctx.db.single.run(
    sentence === undefined
      ? `INSERT INTO declarations (kind, name, service_id) VALUES ('resource', '${name}', '${service}')`
      : `INSERT INTO declarations (kind, name, service_id, sentence) VALUES ('scope', '${name}', '${service}', '${sentence}')`,
    [],
  );

/** Gives a running service on SQLite another service, whose scopes and resource a key can be limited to. */
export async function declareTickets({ directory, env }: TestService): Promise<void> {
  const { stdout } = await runOperator(env, 'services', 'create', 'Tickets');
  const [id] = /svc_[\w-]{22}/.exec(stdout) ?? [];
  const store = new Database(join(directory, 'latchkey.db'));
  store.run('PRAGMA busy_timeout = 5000');
  const insert = 'INSERT INTO declarations (kind, name, service_id, sentence) VALUES (?, ?, ?, ?)';
  store.run(insert, ['scope', 'tickets:read', id!, 'Read the tickets of your organizations']);
  store.run(insert, ['scope', 'tickets:write', id!, 'Create, change and close tickets in your name']);
  store.run(insert, ['resource', 'https://tickets.example/api', id!, null]);
  store.close();
}
