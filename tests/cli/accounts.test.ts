// Several logins on one server: which sessions exist at the server, and what processes see that share the credentials.

import { expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { credentialStore } from '@latchkey/client/credentials';
import { fileStorage } from '@latchkey/client/file-storage';
import {
  decide,
  expireAccessToken,
  type Home,
  latchkey,
  latchkeyProcess,
  loginAs,
  newHome,
  program,
  proxyTo,
  type Running,
  runIn,
  storeLogin,
  userCodeIn,
} from '../support/cli.ts';
import { apiAt, loginByMail, request } from '../support/http.ts';
import { startService } from '../support/service.ts';
import { shared } from '../support/shared.ts';

const service = shared(() =>
  startService({ env: { LATCHKEY_DEVICE_POLL_INTERVAL: '1', LATCHKEY_RATE_LIMITS: 'off' } }),
);

const openHome = () => newHome({ LATCHKEY_SERVER: service.url });
const tokenOf = async (home: Home, account: string) =>
  (await latchkey(home, 'token', '--account', account)).stdout.trim();
const isActive = async (token: string) =>
  (await request(service.url, 'GET', '/me', { token })).status === 200;
const accountsOf = async (home: Home) => {
  const { accounts } = JSON.parse((await latchkey(home, 'accounts', '--json')).stdout);
  return accounts.map(
    ({ name, current }: { name: string; current: boolean }) => `${name}${current ? '*' : ''}`,
  );
};

test('a login as another person leaves the first session; one as the same person ends the session it replaces', async () => {
  const home = openHome();
  const [ada, bea] = ['ada@beside.example', 'bea@beside.example'];
  await loginAs(home, service.url, ada);
  const first = await tokenOf(home, ada);
  await loginAs(home, service.url, bea);
  expect(await isActive(first)).toBe(true);
  await loginAs(home, service.url, ada);
  expect(await isActive(first)).toBe(false);
  expect(await isActive(await tokenOf(home, ada))).toBe(true);
  expect(await isActive(await tokenOf(home, bea))).toBe(true);
  expect(await accountsOf(home)).toEqual([`${bea}`, `${ada}*`]);
});

test('a login under a name that is taken ends the session of that name, and no other', async () => {
  const home = openHome();
  const [ada, bea] = ['ada@taken.example', 'bea@taken.example'];
  await loginAs(home, service.url, ada);
  await loginAs(home, service.url, ada, '--account', 'work');
  const [own, work] = [await tokenOf(home, ada), await tokenOf(home, 'work')];
  await loginAs(home, service.url, bea, '--account', 'work');
  expect([await isActive(own), await isActive(work)]).toEqual([true, false]);
  expect((await latchkey(home, 'whoami', '--account', 'work')).stdout).toContain(bea);
  expect(await accountsOf(home)).toEqual([ada, 'work*']);
});

test('a session that ends elsewhere makes no command act for another account', async () => {
  const home = openHome();
  await storeLogin(home, service.url, 'ada@ended.example');
  await storeLogin(home, service.url, 'bea@ended.example');
  const token = await tokenOf(home, 'bea@ended.example');
  await request(service.url, 'POST', '/revoke', { token });
  for (const message of ['has ended', 'You are not signed in']) {
    const { code, stdout, stderr } = await latchkey(home, 'whoami');
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    expect(stderr).toContain(message);
  }
  expect((await latchkey(home, 'whoami', '--account', 'ada@ended.example')).code).toBe(0);
});

test('commands of two accounts that refresh at once, while another switches, each get tokens of their own account', async () => {
  const home = openHome();
  const people = ['ada@race.example', 'bea@race.example'];
  for (const email of people) {
    await storeLogin(home, service.url, email);
    await expireAccessToken(home, service.url);
  }
  const asked = Array.from({ length: 8 }, (_, at) => people[at % 2] ?? '');
  const [outcomes] = await Promise.all([
    Promise.all(asked.map((email) => latchkeyProcess(home, 'whoami', '--account', email))),
    Promise.all([...people, ...people].map((email) => latchkeyProcess(home, 'switch', email))),
  ]);
  expect(outcomes.map(({ code, stdout }) => `${code} ${/<(.*)>/.exec(stdout)?.[1]}`)).toEqual(
    asked.map((email) => `0 ${email}`),
  );
  expect(service.logs().filter((line) => /theft/.test(line))).toEqual([]);
});

test('logins of several people at once are all kept', async () => {
  const home = openHome();
  const people = ['ada@many.example', 'bea@many.example', 'cia@many.example'];
  const outcomes = await Promise.all(people.map((email) => loginAs(home, service.url, email)));
  expect(outcomes.map(({ code }) => code)).toEqual([0, 0, 0]);
  for (const email of people) {
    expect((await latchkey(home, 'whoami', '--account', email)).stdout).toContain(email);
  }
  expect(await accountsOf(home)).toHaveLength(3);
});

test('a login that is killed before it knows whose it is can be used, and none is lost', async () => {
  let child: Running | undefined;
  const proxy = proxyTo(service, (_, path, forward) => {
    if (path.endsWith('/me')) child?.kill('SIGKILL');
    return forward();
  });
  const home = newHome({ LATCHKEY_SERVER: proxy.url });
  for (const email of ['ada@killed.example', 'bea@killed.example']) {
    let decided: Promise<void> | undefined;
    await runIn(home, [program, 'login'], (stderr, running) => {
      child = running;
      const code = userCodeIn(stderr);
      if (code) decided ??= decide(service.url, code, email);
    });
    await decided;
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

test('a key is never written down when it is given as LATCHKEY_TOKEN, and never printed but by token', async () => {
  const home = openHome();
  const { access_token: accessToken } = await loginByMail(service.url, 'ada@unwritten.example');
  const body = { name: 'ci', scope: '*', expires_in: 3600 };
  const { key = '' } = await apiAt(service.url).call('createKey', { accessToken, body });
  const withKey = { ...home, env: { ...home.env, LATCHKEY_TOKEN: key } };
  const commands = ['whoami', 'status', 'sessions', 'organizations', 'passkeys', 'profile', 'keys', 'doctor'];
  for (const command of [...commands, 'logout', 'login', 'accounts']) {
    for (const args of [[command], [command, '--json']]) {
      const { stdout, stderr } = await latchkey(withKey, ...args);
      expect(stdout + stderr).not.toContain(key);
    }
  }
  expect(Bun.spawnSync(['grep', '-rlF', key, home.path]).stdout.toString()).toBe('');
  expect(existsSync(dirname(home.credentialsFile))).toBe(false);
});

test('a stored key is never refreshed, and stays stored when the server refuses it', async () => {
  const home = openHome();
  const { access_token: accessToken } = await loginByMail(service.url, 'ada@refused.example');
  const body = { name: 'ci', scope: '*', expires_in: 3600 };
  const { id, key = '' } = await apiAt(service.url).call('createKey', { accessToken, body });
  const stdin = ['bash', '-c', 'echo "$KEY" | latchkey login --with-token'];
  expect((await runIn({ ...home, env: { ...home.env, KEY: key } }, stdin)).code).toBe(0);
  await apiAt(service.url).call('removeKey', { accessToken, params: { id } });
  expect((await latchkey(home, 'whoami')).code).toBe(3);
  const stored = await credentialStore(fileStorage(home.credentialsFile), service.url).read();
  expect(stored).toMatchObject({ kind: 'key', access_token: key });
  expect((await latchkey(home, 'logout')).code).toBe(0);
  expect(readFileSync(home.credentialsFile, 'utf8')).not.toContain(key);
});
