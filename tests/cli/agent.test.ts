// `latchkey agent`: to whom it hands out tokens, whom it asks, and what ends with it. What it hands out is in transcripts/agent-tokens.txt.

import { beforeAll, describe, expect, test } from 'bun:test';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { connectAgent } from '@latchkey/client/agent';
import { spawnSync } from 'bun';
import {
  addCommand,
  type Home,
  latchkey,
  latchkeyProcess,
  newHome,
  program,
  proxyTo,
  type RunningAgent,
  runHere,
  sessionsOf,
  startAgent as startAgentIn,
  storeLogin,
} from '#support/cli.ts';
import { codeOf } from '#support/client.ts';
import { ended, launch, type Outcome, registerService, startService } from '#support/service.ts';
import { shared } from '#support/shared.ts';
import { openTerminal, type Terminal } from '#support/terminal.ts';
import { until } from '#support/until.ts';
import { runtimes, startWorker } from '#support/worker.ts';

const service = shared(() => startService());
let home: Home;
const email = 'ada@agent.example';

beforeAll(async () => {
  home = newHome({ LATCHKEY_SERVER: service.url });
  await storeLogin(home, service.url, email);
});

const startAgent = (...args: string[]): Promise<RunningAgent> => startAgentIn(home, ...args);
/** An agent that hands out two scopes. */
const agent = shared(() => startAgent('--scope', 'profile', '--scope', 'email'));

/** A token in a sandbox: nothing is stored in it. */
const tokenIn = (env: Record<string, string>, ...args: string[]): Promise<Outcome> =>
  latchkey(newHome(env), 'token', ...args);

const statusOf = async (token: string): Promise<number> =>
  (await service.ask('GET', '/me', { token })).status;
/** Runs a program in a terminal that asks about it. */
const askAbout = (...command: string[]): Terminal =>
  openTerminal(home, [program, 'agent', 'run', '--ask', '--', ...command]);

test('its socket is 0600 in a directory 0700, and is gone with it', async () => {
  const { address, stop } = await startAgent('--scope', 'profile');
  expect(statSync(address).mode & 0o777).toBe(0o600);
  expect(statSync(dirname(address)).mode & 0o777).toBe(0o700);
  expect(await stop()).toBe(130);
  expect(existsSync(dirname(address))).toBe(false);
});

test('its socket is elsewhere where its path would be too long, or its directory cannot be created', async () => {
  const long = join(home.path, 'x'.repeat(100));
  mkdirSync(long);
  for (const [runtime, temporary] of [[long], [long, long], ['/none'], ['/none', '/none']]) {
    const env = { XDG_RUNTIME_DIR: runtime!, ...(temporary && { TMPDIR: temporary }) };
    const { address, stop } = await startAgentIn({ ...home, env: { ...home.env, ...env } });
    expect(Buffer.byteLength(address)).toBeLessThanOrEqual(107);
    expect(statSync(address).isSocket()).toBe(true);
    expect((await tokenIn({ LATCHKEY_AGENT: address }, '--scope', 'profile')).code).toBe(0);
    await stop();
  }
});

test('an agent that ends in the middle of an answer is status 4', async () => {
  const path = join(home.path, 'dying');
  const dying = createServer((socket) => {
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"server"'));
  });
  await new Promise<void>((resolve) => dying.listen(path, resolve));
  expect((await tokenIn({ LATCHKEY_AGENT: path })).code).toBe(4);
  dying.close();
});

test('--ask waits for a word on the terminal, once for each scope', async () => {
  const terminal = openTerminal(home, [program, 'agent', '--ask']);
  const [, address = ''] = await terminal.shows(/^LATCHKEY_AGENT=(\S+)\r$/m);
  const agent = await connectAgent(address);
  const denied = codeOf(agent.token({ scope: 'email' }));
  await terminal.shows(/A program wants email\. Allow it\? \[y\/N\] $/);
  terminal.type('\n');
  expect(await denied).toBe('invalid_scope');
  const both = [agent.token({ scope: 'profile' }), agent.token({ scope: 'profile' })];
  await terminal.shows(/A program wants profile\. Allow it\? \[y\/N\] $/);
  terminal.type('y\n');
  for (const token of await Promise.all(both)) expect(token.scope).toBe('profile');
  expect(terminal.screen().split('wants profile')).toHaveLength(2);
  expect(await codeOf(agent.token({ scope: 'profile email' }))).toBe('invalid_scope');
  expect(terminal.screen().split('wants email')).toHaveLength(2);
  expect(await terminal.interrupt()).toBe(130);
});

test.skipIf(process.platform !== 'linux')(
  '--ask asks on no terminal that another program can type on or write to',
  async () => {
    const agent = `${program} agent --ask`;
    // Longer than this test may take.
    const living = 'sleep 600';
    /** Kills the process whose number the terminal shows. */
    const killShown = async (terminal: Terminal) =>
      process.kill(Number((await terminal.shows(/^sharer (\d+)\r$/m))[1]), 'SIGKILL');
    for (const sharer of [living, `setsid ${living}`, `setsid ${living} </dev/null >/dev/null`]) {
      const terminal = openTerminal(home, ['sh', '-c', `${sharer} & echo sharer $!; exec ${agent}`]);
      expect(await terminal.exited).toBe(2);
      expect(terminal.screen()).toMatch(/Another program uses this terminal: \w+ \(\d+\)\./);
      await killShown(terminal);
    }
    const alone = `setsid sh -c ': >alone; exec ${living}' <&- >&- 2>&- & echo sharer $!; until [ -e alone ]; do sleep 0.01; done`;
    const detached = openTerminal(home, ['sh', '-c', `${alone}; exec ${agent}`]);
    await detached.shows(/^LATCHKEY_AGENT=/m);
    await killShown(detached);
    await detached.interrupt();

    const script = `exec 3<&0; trap '${living} & echo sharer $!' USR1; echo shell $$; ${agent} <&3 & while wait; [ $? -gt 128 ]; do :; done`;
    const terminal = openTerminal(home, ['sh', '-c', script]);
    const [, shell] = await terminal.shows(/^shell (\d+)\r$/m);
    const [, address = ''] = await terminal.shows(/^LATCHKEY_AGENT=(\S+)\r$/m);
    const client = await connectAgent(address);
    process.kill(Number(shell), 'SIGUSR1');
    await terminal.shows(/^sharer /m);
    expect(await codeOf(client.token({ scope: 'profile' }))).toBe('invalid_scope');
    expect(terminal.screen()).not.toContain('Allow it?');
    await killShown(terminal);
    await terminal.interrupt();
  },
);

test('--ask without a terminal asks with a notification, which a program cannot forge', async () => {
  const desktop = newHome({ LATCHKEY_SERVER: service.url, DISPLAY: ':0' });
  await storeLogin(desktop, service.url, 'desktop@agent.example');
  addCommand(desktop, 'notify-send', '#!/bin/sh\nprintf "%s\\n" "$@" >>"$HOME/asked"\ncat "$HOME/pressed"\n');
  const press = (button: string) => writeFileSync(join(desktop.path, 'pressed'), button);
  press('allow\n');
  const running = await startAgentIn(desktop, '--ask');
  const agent = await connectAgent(running.address);
  expect((await agent.token({ scope: 'profile' })).scope).toBe('profile');
  press('');
  expect(await codeOf(agent.token({ scope: 'email' }))).toBe('invalid_scope');
  press('deny\n');
  const offered = ['--resource', 'https://tickets.example', '--scope', 'tickets:read=See your tickets'];
  await registerService(service, 'tickets', ...offered);
  for (const scope of ['email', ' email  email', 'email profile', '<b>profile</b>', 'profile\u001b[2J'])
    expect(await codeOf(agent.token({ scope }))).toBe('invalid_scope');
  for (const resource of ['https://tickets.example/', 'https://tickets.example'])
    expect(await codeOf(agent.token({ scope: 'tickets:read', resource }))).toBe('invalid_scope');
  for (const resource of ['https://nobody.example', 'a wish'])
    expect(await codeOf(agent.token({ scope: 'profile', resource }))).toBe('invalid_target');
  const asked = readFileSync(join(desktop.path, 'asked'), 'utf8');
  expect(asked.match(/^A program wants .*$/gm)).toEqual([
    'A program wants profile.',
    'A program wants email.',
    'A program wants email.',
    'A program wants tickets:read at https://tickets.example.',
  ]);
  press('allow\n');
  expect(await agent.token({ scope: 'profile' })).toMatchObject({ scope: 'profile' });
});

test.skipIf(process.platform === 'win32')(
  'agent run --ask: its program can neither answer nor repaint a question, and what was typed before answers none',
  async () => {
    const fifo = join(home.path, 'commands');
    spawnSync(['mkfifo', fifo]);
    const script = `echo up; while read -r line; do eval "$line"; done <"$HOME/commands"; exit 5`;
    addCommand(home, 'hostile', `#!/bin/sh\n${script}\n`);
    const terminal = askAbout('hostile');
    await terminal.shows(/^up/m);
    const commands = openSync(fifo, 'w');
    const run = (line: string) => writeSync(commands, `${line}\n`);

    run('for fd in 0 1 2; do [ -t $fd ] && echo shared; done; (: </dev/tty) && echo shared; echo looked');
    await terminal.shows(/^looked/m);
    expect(terminal.screen()).not.toMatch(/^shared/m);

    terminal.type('y\ny');
    run(`printf '\\033[8m\\033]0;unfinished'; { latchkey token --scope email; echo refused=$?; } &`);
    await terminal.shows(/^A program wants email\. Allow it\? \[y\/N\] $/m);
    expect(terminal.screen()).not.toContain('\u001b');
    run(`printf 'A program wants nothing.'; : >written`);
    await until(() => existsSync(join(home.path, 'written')), 'the file of the command');
    terminal.type('\n');
    await terminal.shows(/refused=1/);
    expect(terminal.screen()).toMatch(/Allow it\? \[y\/N\] \r\n[\s\S]*A program wants nothing\./);

    run('{ latchkey token --scope profile; echo allowed=$?; } &');
    await terminal.shows(/^A program wants profile\. Allow it\? \[y\/N\] $/m);
    terminal.type('y\n');
    await terminal.shows(/^lk_at_\S+\s+allowed=0/m);

    run('trap "exit 3" INT; latchkey token --scope organizations & wait');
    await terminal.shows(/^A program wants organizations\. Allow it\? \[y\/N\] $/m);
    expect(await terminal.interrupt()).toBe(3);
    closeSync(commands);
  },
);

test.skipIf(process.platform !== 'linux')(
  'agent run --ask lets nobody allow anything while its program has the terminal open by its path',
  async () => {
    const opened = 'exec 3<>"$(readlink /proc/$PPID/fd/0)"';
    const asking = 'latchkey token --scope profile; echo before=$?';
    const early = askAbout('sh', '-c', `${opened}; ${asking}`);
    await early.shows(/^before=1/m);
    expect(early.screen()).toMatch(/It is refused\. Another program uses this terminal: \w+ \(\d+\)\./);
    expect(early.screen()).not.toContain('Allow it?');
    await early.exited;

    const later = `trap '${opened}; : >opened' USR1; (${asking}) & echo $$ >pid; while wait; [ $? -gt 128 ]; do :; done`;
    const late = askAbout('sh', '-c', later);
    await late.shows(/Allow it\? \[y\/N\] $/);
    process.kill(Number(readFileSync(join(home.path, 'pid'), 'utf8')), 'SIGUSR1');
    await until(() => existsSync(join(home.path, 'opened')), 'the opened address');
    late.type('y\n');
    await late.shows(/^before=1/m);
    await late.exited;
  },
);

test('agent run --ask answers the status of its program, and asks on no terminal that a reader of its output may share', async () => {
  expect(await askAbout('sh', '-c', 'exit 5').exited).toBe(5);
  expect(await askAbout('no-such-program').exited).toBe(127);
  const script = 'i=0; while [ $i -lt 3000 ]; do echo line; i=$((i+1)); done; echo last; sleep 3 &';
  const many = askAbout('sh', '-c', script);
  expect(await many.exited).toBe(0);
  expect(many.screen().match(/^line/gm)).toHaveLength(3000);
  expect(many.screen()).toContain('last');
  const shared = openTerminal(home, ['sh', '-c', `${program} agent run --ask -- true | cat; echo done`]);
  await shared.shows(/--ask needs a terminal[\s\S]*done/);
});

describe('agent run', () => {
  const run = (...command: string[]) =>
    latchkeyProcess(home, 'agent', 'run', '--scope', 'profile', '--', ...command);

  test('sets LATCHKEY_AGENT, answers the status of its program, and ends its runs with it', async () => {
    const before = (await sessionsOf(service.url, email, 'run')).length;
    const { code, stdout } = await run('sh', '-c', 'latchkey token; exit 7');
    expect(code).toBe(7);
    expect(stdout).toMatch(/^lk_at_\S+\n$/);
    expect(await statusOf(stdout.trim())).toBe(401);
    expect(await sessionsOf(service.url, email, 'run')).toHaveLength(before);
  });

  test('starts no program after a signal', async () => {
    const stopping = new AbortController();
    const proxy = proxyTo(service, (_, __, forward) => {
      stopping.abort();
      return forward();
    });
    await storeLogin(home, service.url, email, proxy.url);
    await registerService(
      service,
      'parcels',
      '--resource',
      'https://parcels.example',
      '--scope',
      'parcels=See',
    );
    const forward = ['--server', proxy.url, '--forward', 'a=https://parcels.example parcels'];
    const args = ['agent', 'run', ...forward, '--', 'true'];
    const { code, stderr } = await runHere(home, args, undefined, stopping.signal);
    expect([code, stderr]).toEqual([130, 'latchkey: Cancelled. true was not started.\n']);
  });

  test('leaves Ctrl-C to the terminal, which sends it to the program, too', async () => {
    // Would the agent pass the signal on, it would have done so before it answers.
    const script =
      'trap "echo got INT; got=1" INT; echo up; until [ $got ]; do sleep 0.05; done; latchkey token; echo done';
    const command = [program, 'agent', 'run', '--scope', 'profile', '--', 'sh', '-c', script];
    const terminal = openTerminal(home, command);
    await terminal.shows(/up/);
    terminal.type('\u0003');
    await terminal.shows(/done/);
    expect(await terminal.exited).toBe(0);
    expect(terminal.screen().match(/got INT/g)).toHaveLength(1);
  });

  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('passes %s on', async (signal) => {
    const script = `for name in INT TERM HUP; do trap "echo got $name; exit 3" $name; done; latchkey token; while :; do sleep 0.05; done`;
    const command = [program, 'agent', 'run', '--scope', 'profile', '--', 'sh', '-c', script];
    const running = launch(home.path, home.env, command);
    await until(() => /lk_at_\S+\n/.test(running.stdout()), 'a token');
    running.child.kill(signal);
    const { code, stdout } = await ended(running);
    expect([code, stdout]).toEqual([3, expect.stringContaining(`got ${signal.slice(3)}`)]);
    expect(await statusOf(/lk_at_\S+/.exec(stdout)?.[0] ?? '')).toBe(401);
  });
});

test.each(runtimes)('the SDK asks it on $name', async ({ command }) => {
  const worker = startWorker(
    ['env', `LATCHKEY_AGENT=${agent.address}`, ...command],
    'agent-client-worker.ts',
  );
  expect([await worker.hear(), await worker.ask('go')]).toEqual(['ready', 'ok']);
  expect(await worker.finish()).toBe('');
});
