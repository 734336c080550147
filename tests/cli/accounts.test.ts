// Several logins on one server, and processes that share them. What each command does is in transcripts/accounts.txt.

import { expect, test } from 'bun:test';
import {
  approving,
  expireAccessToken,
  type Home,
  latchkey,
  latchkeyProcess,
  newHome,
  program,
  proxyTo,
  type Running,
  runIn,
  storeLogin,
} from '#support/cli.ts';
import { refreshesDuring } from '#support/http.ts';
import { startService } from '#support/service.ts';
import { shared } from '#support/shared.ts';

const service = shared(() => startService({ env: { LATCHKEY_DEVICE_POLL_INTERVAL: '1' } }));

const accountsOf = async (home: Home) => {
  const { accounts } = JSON.parse((await latchkey(home, 'accounts', '--json')).stdout);
  return accounts.map(
    ({ name, current }: { name: string; current: boolean }) => `${name}${current ? '*' : ''}`,
  );
};

test('commands of two accounts that refresh at once, while another switches, share one refresh of their own account', async () => {
  const home = newHome({ LATCHKEY_SERVER: service.url });
  const people = ['ada@race.example', 'bea@race.example'];
  for (const email of people) {
    await storeLogin(home, service.url, email);
    await expireAccessToken(home, service.url);
  }
  const asked = Array.from({ length: 8 }, (_, at) => people[at % 2] ?? '');
  const { rotated, retry, ...others } = await refreshesDuring(service.url, async () => {
    const [outcomes] = await Promise.all([
      Promise.all(asked.map((email) => latchkeyProcess(home, 'whoami', '--account', email))),
      Promise.all([...people, ...people].map((email) => latchkeyProcess(home, 'switch', email))),
    ]);
    expect(outcomes.map(({ code, stdout }) => `${code} ${/<(.*)>/.exec(stdout)?.[1]}`)).toEqual(
      asked.map((email) => `0 ${email}`),
    );
  });
  expect([rotated, retry, others]).toEqual([2, 0, {}]);
});

test('a login that is killed before it knows whose it is can be used, and none is lost', async () => {
  let child: Running | undefined;
  const proxy = proxyTo(service, (_, path, forward) => {
    if (path.endsWith('/me')) child?.kill('SIGKILL');
    return forward();
  });
  const home = newHome({ LATCHKEY_SERVER: proxy.url });
  for (const email of ['ada@killed.example', 'bea@killed.example']) {
    await approving(service.url, email, (onStderr) =>
      runIn(home, [program, 'login'], (stderr, running) => {
        child = running;
        onStderr(stderr);
      }),
    );
    child = undefined;
  }
  expect(await accountsOf(home)).toEqual([
    expect.stringMatching(/^login-[0-9a-f]{8}\*$/),
    expect.stringMatching(/^login-[0-9a-f]{8}$/),
  ]);
  expect((await latchkey(home, 'whoami')).stdout).toContain('ada@killed.example');
  const [, second] = await accountsOf(home);
  expect((await latchkey(home, 'whoami', '--account', second)).stdout).toContain('bea@killed.example');
});
