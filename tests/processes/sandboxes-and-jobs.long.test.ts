// docs/sandboxes-and-jobs.md, word for word: a sandbox with an agent, a job without a secret, a cloud that trusts Latchkey.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawnSync } from 'bun';
import { newCertificate } from '#support/certificate.ts';
import { type Home, listener, newHome, runIn, storeLogin } from '#support/cli.ts';
import { allBlocks, openTerminal, readerOf, startBlock, type Terminal } from '#support/guides.ts';
import { githubClaims, startIssuer } from '#support/issuer.ts';
import { reservePort } from '#support/reserved-port.ts';
import { launch, registerService, startService, temporaryDirectory, untilReady } from '#support/service.ts';
import { shared } from '#support/shared.ts';
import { until } from '#support/until.ts';

const document = 'docs/sandboxes-and-jobs.md';
const email = 'ada@sandbox.example';
const github = 'https://token.actions.githubusercontent.com';
const blocks = await allBlocks(document, 'sh', 9);
const [sandbox, otherMachine, forward, forwardGit, forwardSocket, forwardOtherMachine, ...others] = blocks;
const [createKey, startCloud, useCloud] = others;
const [workflow] = await allBlocks(document, 'yaml', 1);

const issuer = shared(() => startIssuer());
const service = shared(() =>
  startService({
    env: {
      LATCHKEY_TRUSTED_ISSUERS: issuer.url,
      LATCHKEY_IDENTITY_AUDIENCES: 'https://storage.example',
    },
  }),
);
let home: Home;
let terminal: Terminal;
let cloudPort: number;
const forwarded: (string | null)[] = [];
const repositories = temporaryDirectory();
const certificate = newCertificate();
/** Serves the list of tickets, and repositories as files. */
const tickets = listener(async (request) => {
  forwarded.push(request.headers.get('Authorization'));
  const { pathname } = new URL(request.url);
  if (pathname === '/list') return new Response('list\n');
  const file = Bun.file(join(repositories, pathname));
  return (await file.exists()) ? new Response(file) : new Response(null, { status: 404 });
}, certificate);

beforeAll(async () => {
  home = readerOf(service, { NODE_EXTRA_CA_CERTS: certificate.cert });
  await storeLogin(home, service.url, email);
  const scopes = ['tickets:read=See your tickets', 'code:read=Read your code'];
  const declared = ['--resource', tickets.url, ...scopes.flatMap((scope) => ['--scope', scope])];
  await registerService(service, 'tickets', ...declared);
  const git = 'git -c init.defaultBranch=main -c user.name=Ada -c user.email=ada@example.com';
  const create = `${git} init -q plans && cd plans && echo the plan >plan.txt && git add . && ${git} commit -qm plan && cd .. && git clone -q --bare plans plans.git && git -C plans.git update-server-info`;
  expect(spawnSync(['sh', '-c', create], { cwd: repositories }).exitCode).toBe(0);
  cloudPort = reservePort();
  terminal = openTerminal(home, {
    'localhost:8787': new URL(service.url).host,
    'localhost:3000': `localhost:${cloudPort}`,
  });
});

afterAll(() => tickets.stop());

const statusOf = async (token: string): Promise<number> =>
  (await service.ask('GET', '/me', { token: token.trim() })).status;

describe('a sandbox', () => {
  const canIsolate =
    Bun.which('bwrap') !== null &&
    spawnSync(['bwrap', '--ro-bind', '/', '/', '--dev-bind', '/dev', '/dev', 'true']).success;

  test.skipIf(!canIsolate)(
    'without the stored login gets tokens from the agent, which end with it',
    async () => {
      const { code, output } = await terminal.run(sandbox);
      expect([code, output]).toEqual([0, expect.stringMatching(/^lk_at_\S+\n$/)]);
      expect(await statusOf(output)).toBe(401);
      const alone = await terminal.run(
        sandbox.replace(/^.*\n/, '').replace('npx latchkey token', 'npx latchkey whoami'),
      );
      expect(alone.code).toBe(3);
    },
  );

  test.skipIf(!canIsolate)(
    'without a token has its requests forwarded: curl, git, and without a network',
    async () => {
      expect(await runForwarded(forward)).toBe('list\n');
      expect(await runForwarded(forwardSocket)).toBe('list\n');
      expect(await runForwarded(forwardGit)).toBe('');
      expect(readFileSync(join(home.path, 'plans/plan.txt'), 'utf8')).toBe('the plan\n');
      expect(forwarded.length).toBeGreaterThan(3);
      for (const authorization of forwarded) expect(authorization).toMatch(/^Bearer lk_at_/);
      await until(
        async () => (await statusOf(forwarded[0]?.replace('Bearer ', '') ?? '')) === 401,
        'the end of the run',
      );
    },
  );

  const sshd = Bun.which('sshd', { PATH: `${process.env['PATH']}:/usr/sbin` });

  test.skipIf(!sshd)('on another machine reaches the agent through ssh', async () => {
    const there = newHome();
    const server = await startSsh(sshd!, there);
    const script = otherMachine
      .replace('ssh ', `ssh -F ${server.config} `)
      .replaceAll('/home/ada/.ssh/latchkey', join(there.path, 'latchkey'));
    const { output } = await terminal.run(script);
    // The agent, which the script ends last, may say so in time.
    const [, token = ''] = /^(lk_at_\S+\n)(?:latchkey: The agent has stopped\.\n)?$/.exec(output) ?? [];
    expect({ output, token }).not.toEqual({ output, token: '' });
    expect(existsSync(join(there.path, '.config'))).toBe(false);
    const [port, otherPort] = [reservePort(), reservePort()];
    const forwardScript = forwardOtherMachine
      .replace('ssh ', `ssh -F ${server.config} `)
      .replace('-R 4100', `-R ${otherPort}`)
      .replaceAll('4100', String(port))
      .replace(
        '"$LATCHKEY_FORWARD_TICKETS',
        `"$(echo "$LATCHKEY_FORWARD_TICKETS" | sed s/:${port}/:${otherPort}/)`,
      );
    expect(await runForwarded(forwardScript)).toMatch(/^list\n(latchkey: The agent has stopped\.\n)?$/);
    await server.stop();
    // The agent ends what it handed out, too.
    await until(async () => (await statusOf(token)) === 401, 'the refusal of the token');
  });
});

/** The output of commands of the guide that use the services of this test. */
const runForwarded = async (script: string): Promise<string> =>
  (await terminal.run(script.replaceAll(/https:\/\/(tickets|code)\.example/g, tickets.url))).output;

/** An SSH server for `build.example`, whose sessions have this home. */
async function startSsh(sshd: string, there: Home) {
  const ssh = join(home.path, 'ssh');
  mkdirSync(ssh);
  // Where the server of Debian wants to be when it runs as root.
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true });
  for (const name of ['host', 'user'])
    spawnSync(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', join(ssh, name)]);
  const port = reservePort();
  const options = [
    ...['ListenAddress=127.0.0.1', 'PidFile=none', 'StrictModes=no', 'UsePAM=no', 'PermitRootLogin=yes'],
    `AuthorizedKeysFile=${join(ssh, 'user.pub')}`,
    `SetEnv=PATH=${there.env['PATH']} HOME=${there.path}`,
  ];
  const server = launch('/', home.env, [
    ...[sshd, '-D', '-e', '-f', '/dev/null', '-p', String(port), '-h', join(ssh, 'host')],
    ...options.flatMap((option) => ['-o', option]),
  ]);
  const config = join(ssh, 'config');
  writeFileSync(
    config,
    `Host build.example\nHostName 127.0.0.1\nPort ${port}\nIdentityFile ${join(ssh, 'user')}\nStrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n`,
  );
  const canConnect = async () =>
    (await runIn(home, ['ssh', '-F', config, 'build.example', 'true'])).code === 0;
  return { config, stop: await untilReady('the SSH server', server, canConnect) };
}

test.each([
  ['old', false],
  ['new', true],
])('a job without a secret, whose subject has the %s form, gets a token', async (_, isNew) => {
  const { access_token } = await service.login(email);
  const claims = (aud: string, changed = {}) => githubClaims(aud, changed, isNew);
  // Only of GitHub itself are the ids enough.
  const command = createKey
    .replace('npx latchkey', `LATCHKEY_TOKEN=${access_token} npx latchkey`)
    .replace(github, issuer.url)
    .replace('--claim ', `--claim sub=${claims('')['sub']} `);
  const { code, output } = await terminal.run(command);
  expect([code, output]).toEqual([0, expect.stringMatching(/^key_\S+\n$/)]);
  const [, script = ''] = /- run: \|\n([\s\S]*)$/.exec(workflow) ?? [];
  const job = (changed = {}) =>
    runIn(
      newHome({
        LATCHKEY_SERVER: service.url,
        LATCHKEY_KEY: output.trim(),
        ...issuer.job((audience) => claims(audience, changed)),
      }),
      ['sh', '-e', '-c', script],
    );
  const done = await job();
  expect([done.code, done.stderr]).toEqual([0, '']);
  expect(JSON.parse(done.stdout)).toMatchObject({ id: expect.stringMatching(/^usr_/) });
  for (const changed of [
    { repository_id: '1' },
    { ref: 'refs/pull/1/merge' },
    githubClaims(service.url, {}, !isNew),
  ])
    expect((await job(changed)).code).toBe(1);
});

test('a run reads from a cloud that trusts Latchkey, and an access token does not', async () => {
  const url = `http://localhost:${cloudPort}/objects`;
  const isReady = async () => (await fetch(url)).status === 401;
  await startBlock(home, startCloud, { PORT: String(cloudPort) }, isReady);
  const { code, output } = await terminal.run(useCloud);
  expect(code).toBe(0);
  expect(JSON.parse(output)).toEqual({ objects: ['plan.txt'], subject: expect.stringMatching(/^run:usr_/) });
  const { access_token } = await service.login(email);
  expect((await fetch(url, { headers: { Authorization: `Bearer ${access_token}` } })).status).toBe(401);
});
