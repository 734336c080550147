// Everything the service has confirmed survives kill -9, and a graceful stop loses nothing.

import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { endAtExit, hasEnded } from '../support/cleanup.ts';
import { linkTokenIn, loginByMail, mailTo, request } from '../support/http.ts';
import { startService, temporaryDirectory } from '../support/service.ts';
import { startSmtp } from '../support/smtp.ts';
import { until } from '../support/until.ts';

test('after kill -9 during refreshes, every confirmed refresh holds and no session ends', async () => {
  const first = await startService();
  const logins = await Promise.all(
    Array.from({ length: 8 }, (_, index) => loginByMail(first.url, `crash${index}@example.com`)),
  );
  const latest = logins.map((login) => login.refresh_token);
  let answered = 0;
  const load = latest.map(async (_, index) => {
    for (;;) {
      const key = `${index} ${latest[index]!.slice(-8)}`;
      const ask = { json: { refresh_token: latest[index] }, headers: { 'Idempotency-Key': key } };
      const answer = await request(first.url, 'POST', '/refresh', ask).catch(() => undefined);
      if (!answer) return;
      expect(answer.status).toBe(200);
      latest[index] = answer.body.refresh_token;
      answered += 1;
    }
  });
  await until(() => answered >= 100);
  await first.kill();
  await Promise.all(load);

  const second = await startService({ directory: first.directory });
  for (const [index, refresh_token] of latest.entries()) {
    const key = `${index} ${refresh_token.slice(-8)}`;
    const ask = { json: { refresh_token }, headers: { 'Idempotency-Key': key } };
    expect((await request(second.url, 'POST', '/refresh', ask)).status).toBe(200);
  }
  expect(await second.stop()).toBe(0);
});

test('a sign-in mail accepted with 202 is delivered after kill -9', async () => {
  const first = await startService();
  const addresses = Array.from({ length: 10 }, (_, index) => `promised${index}@example.com`);
  const answers = await Promise.all(
    addresses.map((email) => request(first.url, 'POST', '/magic_link', { json: { email } })),
  );
  await first.kill();
  expect(answers.map((answer) => answer.status)).toEqual(addresses.map(() => 202));
  const second = await startService({ directory: first.directory });
  for (const address of addresses) {
    const token = linkTokenIn(await mailTo(second.url, address));
    expect((await request(second.url, 'POST', '/magic_link/verify', { json: { token } })).status).toBe(200);
  }
  await second.stop();
});

test('a sign-in mail accepted while the mail server is down is delivered after kill -9', async () => {
  const down = await startSmtp();
  await down.close();
  const env = { LATCHKEY_SMTP_URL: down.url };
  const first = await startService({ env });
  const { status } = await request(first.url, 'POST', '/magic_link', {
    json: { email: 'later@example.com' },
  });
  expect(status).toBe(202);
  await first.kill();

  const smtp = await startSmtp();
  const second = await startService({ directory: first.directory, env: { LATCHKEY_SMTP_URL: smtp.url } });
  await until(() => smtp.messages.length > 0);
  expect(smtp.messages.map((message) => message.to)).toEqual([['later@example.com']]);
  await second.stop();
  await smtp.close();
});

test('on SIGTERM the service finishes the requests in flight and exits with 0', async () => {
  const service = await startService();
  const requests = Array.from({ length: 20 }, (_, index) =>
    request(service.url, 'POST', '/magic_link', { json: { email: `flight${index}@example.com` } }),
  );
  await requests[0];
  const stopped = service.stop();
  const answers = await Promise.allSettled(requests);
  expect(await stopped).toBe(0);
  for (const answer of answers) {
    if (answer.status === 'fulfilled') expect([202, 503]).toContain(answer.value.status);
  }
});

test('a service run by npx stops with npx, although the shell between them forwards no signals', async () => {
  const directory = temporaryDirectory();
  // A file, because a pipe is read only until npx itself has ended.
  const log = join(directory, 'log');
  const npx = Bun.spawn(['npx', 'latchkey-server', 'serve'], {
    cwd: join(import.meta.dir, '../..'),
    env: { ...process.env, PORT: '0', DATABASE_URL: `sqlite:${join(directory, 'x.db')}` },
    stdout: Bun.file(log),
    stderr: 'ignore',
  });
  endAtExit(npx.pid);
  npx.exited.then(() => hasEnded(npx.pid));
  const logged = async (line: string): Promise<void> => {
    await until(async () => (await Bun.file(log).text()).includes(line));
  };
  await logged('is ready');
  npx.kill('SIGTERM');
  await logged('"stopped"');
});
