// `latchkey agent --forward`: what it prints and sets, and what it refuses. What it forwards is in agent-forwarder.test.ts of the SDK,
// and what `--ask` asks in agent-question.test.ts.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import {
  type Home,
  latchkey,
  latchkeyProcess,
  listener,
  newHome,
  startAgent,
  storeLogin,
} from '#support/cli.ts';
import { registerService, startService } from '#support/service.ts';
import { shared } from '#support/shared.ts';

const service = shared(() => startService());
let home: Home;
const authorizations: (string | null)[] = [];
const tickets = listener((request) => {
  authorizations.push(request.headers.get('Authorization'));
  return new Response(`${request.method} ${new URL(request.url).pathname}`);
});
const forward = `my-tickets=${tickets.url} tickets:read`;

beforeAll(async () => {
  home = newHome({ LATCHKEY_SERVER: service.url });
  await storeLogin(home, service.url, 'ada@forward.example');
  const declared = ['--resource', tickets.url, '--scope', 'tickets:read=See your tickets'];
  await registerService(service, 'tickets', ...declared);
});

afterAll(async () => {
  await tickets.stop();
});

const getBySocket = (socketPath: string, path: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    httpRequest({ socketPath, path, agent: false }, (response) => resolve(response.resume().statusCode))
      .on('error', reject)
      .end();
  });

test('with --listen it prints a URL for each name, and hands out no token; a policy may hold both', async () => {
  const policy = join(home.path, 'policy.json');
  const names = [forward, `b=${tickets.url}/ tickets:read tickets:read`];
  writeFileSync(policy, JSON.stringify({ forward: names, listen: '127.0.0.1:0' }));
  const options = ['--listen', '127.0.0.1:0', ...names.flatMap((name) => ['--forward', name])];
  for (const args of [options, ['--policy', policy]]) {
    authorizations.length = 0;
    const agent = await startAgent(home, ...args);
    const [base, secret] = agent.address.split('#');
    for (const name of ['my-tickets', 'b'])
      expect(await (await fetch(`${base}/${secret}/${name}/list`)).text()).toBe('GET /list');
    const bearer = expect.stringMatching(/^Bearer lk_at_/);
    expect(authorizations).toEqual([bearer, bearer]);
    if (args === options)
      expect(agent.forwards).toEqual({
        LATCHKEY_FORWARD_MY_TICKETS: `${base}/${secret}/my-tickets`,
        LATCHKEY_FORWARD_B: `${base}/${secret}/b`,
      });
    const sandbox = newHome({ LATCHKEY_AGENT: agent.address });
    for (const scope of [[], ['--scope', 'tickets:read'], ['--scope', 'profile']]) {
      const { code, stdout, stderr } = await latchkey(sandbox, 'token', ...scope);
      expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining('hands out no tokens')]);
    }
    await agent.stop();
  }
});

test('on its socket no secret is needed, and with --scope it hands out tokens, too', async () => {
  const agent = await startAgent(home, '--forward', forward, '--scope', 'profile');
  expect(agent.forwards).toEqual({});
  expect(await getBySocket(agent.address, '/my-tickets/list')).toBe(200);
  expect(await getBySocket(agent.address, '/other/list')).toBe(404);
  const token = (...args: string[]) => latchkey(newHome({ LATCHKEY_AGENT: agent.address }), 'token', ...args);
  expect((await token()).stdout).toMatch(/^lk_at_/);
  expect((await token('--scope', 'tickets:read')).code).toBe(1);
  await agent.stop();
});

test('agent run opens a port for it and sets the variable', async () => {
  const show = 'printenv LATCHKEY_AGENT; curl -s "$LATCHKEY_FORWARD_MY_TICKETS/list"; exit 7';
  const args = ['agent', 'run', '--forward', forward, '--', 'sh', '-c', show];
  const { code, stdout } = await latchkeyProcess(home, ...args);
  expect([code, stdout]).toEqual([7, expect.stringMatching(/^\/\S+\nGET \/list$/)]);
});
