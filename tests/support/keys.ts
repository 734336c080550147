// Keys, and the scopes and resources of services that they can be limited to.

import { expect } from 'bun:test';
import type { CreatedKey, NewKey } from '@latchkey/contract/keys';
import { outcome } from './account.ts';
import type { TestApp, Tokens } from './app.ts';
import { registerService, type TestService } from './service.ts';

/** A key with a secret. */
export type SecretKey = CreatedKey & { readonly key: string };

export const wantedKey: NewKey = { name: 'build', scope: '*', expires_in: 86_400 };

/** Creates a key that may do everything for a day, unless `wants` says otherwise. */
export async function createdKey(
  app: TestApp,
  { access_token: token }: Tokens,
  wants: Partial<NewKey> = {},
): Promise<SecretKey> {
  const answer = await app.ask('POST', '/keys', { token, json: { ...wantedKey, ...wants } });
  expect(outcome(answer)).toBe('201');
  return answer.body;
}

/** Registers a service with a running Latchkey, whose scopes and resource a key can be limited to. */
export async function declareTickets(service: TestService): Promise<void> {
  const options = [
    ...['--resource', 'https://tickets.example/api'],
    ...['--scope', 'tickets:read=Read the tickets of your organizations'],
    ...['--scope', 'tickets:write=Create, change and close tickets in your name'],
  ];
  await registerService(service, 'Tickets', ...options);
}
