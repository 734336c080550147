// Requests that arrive in one turn share statements on PostgreSQL, and nothing else.

import { expect, test } from 'bun:test';
import { onBothDatabases, type Tokens } from '#support/app.ts';

const people = 40;

onBothDatabases('many people at once', (open) => {
  test('refresh, each for themselves, one of them twenty times, and those whose sessions have ended are refused', async () => {
    const app = await open();
    const emails = Array.from({ length: people }, (_, index) => `person-${index}@example.com`);
    let logins: Tokens[] = [];
    for (const email of emails) logins.push(await app.login(email));
    const me = ({ access_token: token }: Tokens) => app.ask('GET', '/me', { token });
    const refresh = ({ refresh_token }: Tokens) =>
      app.ask('POST', '/refresh', { json: { refresh_token }, headers: { 'Idempotency-Key': refresh_token } });
    const emailsOf = async () => (await Promise.all(logins.map(me))).map(({ body }) => body.email);

    expect(await emailsOf()).toEqual(emails);
    for (let round = 0; round < 3; round++) {
      const repeated = Array<Tokens>(19).fill(logins[0]!);
      const answers = await Promise.all([...repeated, ...logins].map(refresh));
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
      logins = answers.slice(19).map(({ body }) => body);
      const successors = answers.map(({ body }) => body.refresh_token);
      expect([new Set(successors).size, new Set(successors.slice(0, 20)).size]).toEqual([people, 1]);
      expect(await emailsOf()).toEqual(emails);
    }

    const ended = [3, 17, 30];
    for (const index of ended) await app.ask('POST', '/revoke', { token: logins[index]!.access_token });
    for (const [send, refusal] of [
      [me, 401],
      [refresh, 400],
    ] as const) {
      const statuses = (await Promise.all(logins.map(send))).map(({ status }) => status);
      expect(statuses).toEqual(logins.map((_, index) => (ended.includes(index) ? refusal : 200)));
    }
  });
});
