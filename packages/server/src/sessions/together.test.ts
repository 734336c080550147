// Requests that arrive in one turn share statements on PostgreSQL, and nothing else.

import { beforeEach, expect, test } from 'bun:test';
import { onBothDatabases, type Tokens } from '../../../../tests/support/app.ts';
import { shared } from '../../../../tests/support/shared.ts';

const people = 40;

onBothDatabases('many people at once', (open) => {
  const app = shared(open);
  let logins: Tokens[];
  const emails = Array.from({ length: people }, (_, index) => `person-${index}@example.com`);
  beforeEach(async () => {
    logins = [];
    for (const email of emails) logins.push(await app.login(email));
  });

  const emailsOf = (tokens: readonly Tokens[]) =>
    Promise.all(
      tokens.map(
        async ({ access_token: token }) => (await app.ask('GET', '/me', { token })).body.email as string,
      ),
    );
  const refresh = ({ refresh_token }: Tokens) =>
    app.ask('POST', '/refresh', { json: { refresh_token }, headers: { 'Idempotency-Key': refresh_token } });

  test('each get their own account and their own tokens', async () => {
    expect(await emailsOf(logins)).toEqual(emails);
    for (let round = 0; round < 3; round++) {
      const answers = await Promise.all(logins.map(refresh));
      expect(answers.map(({ status }) => status)).toEqual(emails.map(() => 200));
      logins = answers.map(({ body }) => body);
      expect(new Set(logins.map(({ refresh_token }) => refresh_token)).size).toBe(people);
      expect(await emailsOf(logins)).toEqual(emails);
    }
  });

  test('refresh one login, and all get the same successor, while others get theirs', async () => {
    const [shared, ...others] = logins;
    const answers = await Promise.all([...Array.from({ length: 20 }, () => shared!), ...others].map(refresh));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const successors = answers.map(({ body }) => body as Tokens);
    expect(new Set(successors.slice(0, 20).map(({ refresh_token }) => refresh_token)).size).toBe(1);
    expect(await emailsOf(successors.slice(19))).toEqual(emails);
  });

  test('are refused one by one: an ended session beside active ones', async () => {
    const ended = [3, 17, 30];
    for (const index of ended) {
      const { access_token: token } = logins[index]!;
      expect((await app.ask('POST', '/revoke', { token })).status).toBe(204);
    }
    const expected = (active: number, inactive: number) =>
      emails.map((_, index) => (ended.includes(index) ? inactive : active));
    const asked = logins.map(({ access_token: token }) => app.ask('GET', '/me', { token }));
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(expected(200, 401));
    expect((await Promise.all(logins.map(refresh))).map(({ status }) => status)).toEqual(expected(200, 400));
  });
});
