// Everything the service has confirmed survives kill -9. That a graceful stop loses nothing is in held-polls.test.ts.

import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { spawn } from '#support/cleanup.ts';
import { serverMain, startService, type TestService, temporaryDirectory } from '#support/service.ts';
import { startSmtp } from '#support/smtp.ts';
import { until } from '#support/until.ts';

const root = join(import.meta.dir, '../..');
/** The source of the service, which is killed at a failpoint. */
const failing = [process.execPath, '--preload', join(root, 'tests/support/failpoint.ts'), serverMain];

test.each([
  ['before', 'rotated'],
  ['after', 'retry'],
] as const)(
  'a refresh that is killed %s its commit is repeated as %s, and no confirmed one is lost',
  async (moment, detail) => {
    const env = { FAILPOINT: `${moment} update "sessions" set "generation"`, FAILPOINT_COMMITS: '2' };
    const first = await startService({ program: failing, env });
    let { refresh_token } = await first.login('ada@example.com');
    const refresh = ({ ask }: TestService) => {
      const headers = { 'Idempotency-Key': refresh_token.slice(-8) };
      return ask('POST', '/refresh', { json: { refresh_token }, headers });
    };
    for (let confirmed = 0; confirmed < 2; confirmed++)
      refresh_token = (await refresh(first)).body.refresh_token;
    const unconfirmed = await refresh(first).catch(() => undefined);
    expect([unconfirmed, await first.exited]).toEqual([undefined, 137]);

    const second = await startService({ directory: first.directory });
    expect((await refresh(second)).status).toBe(200);
    expect(await second.stop()).toBe(0);
    const lines = second.logs().map((line) => JSON.parse(line));
    const refreshes = lines.filter(({ route }) => /\/refresh$/.test(route));
    expect(refreshes.map((line) => line.detail)).toEqual([detail]);
  },
);

test.each(['after insert into "outbox"', 'before update "outbox" set "sent_at"'])(
  'a mail whose service is killed %s is delivered',
  async (FAILPOINT) => {
    const smtp = await startSmtp();
    const env = { LATCHKEY_SMTP_URL: smtp.url };
    const first = await startService({ program: failing, env: { ...env, FAILPOINT } });
    const ask = { json: { email: 'ada@example.com' } };
    await first.ask('POST', '/magic_link', ask).catch(() => undefined);
    expect(await first.exited).toBe(137);
    const seen = smtp.messages.length;

    await startService({ directory: first.directory, env });
    const mails = await smtp.received(seen + 1);
    expect(mails.at(-1)?.to).toEqual(['ada@example.com']);
  },
);

test('a service run by npx stops with npx, although the shell between them forwards no signals', async () => {
  const directory = temporaryDirectory();
  // A file, because a pipe is read only until npx itself has ended.
  const log = join(directory, 'log');
  const npx = spawn(['npx', 'latchkey-server', 'serve'], {
    cwd: root,
    env: { ...process.env, PORT: '0', DATABASE_URL: `sqlite:${join(directory, 'x.db')}` },
    stdout: Bun.file(log),
    stderr: 'ignore',
  });
  const logged = (line: string) =>
    until(async () => (await Bun.file(log).text()).includes(line), `a line with ${line}`);
  await logged('is ready');
  npx.kill('SIGTERM');
  await logged('"stopped"');
});
