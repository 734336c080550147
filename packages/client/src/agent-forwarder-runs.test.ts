// With which runs an agent forwards requests, and when it does not.

import { afterEach, describe, expect, test } from 'bun:test';
import type { ServerResponse } from 'node:http';
import { codeOf, lossy } from '#support/client.ts';
import { openForwarding, type Respond, tokenIn, valuesOf } from '#support/forwarding.ts';
import { shared } from '#support/shared.ts';
import { until } from '#support/until.ts';
import { createRuns } from './agent-runs.ts';
import type { AskedAccess } from './agent-server.ts';

const scene = shared(openForwarding);
afterEach(() => scene.reset());

describe('a 401', () => {
  /** Answers 401 to a token the first time that it sees it, for as many tokens as that. */
  const rejecting = (count: number, isEarly = false): Respond => {
    const rejected = new Set<string>();
    return async (request, response) => {
      const { authorization = '' } = request.headers;
      if (rejected.has(authorization) || rejected.size < count) {
        rejected.add(authorization);
        if (!isEarly) await scene.record(request, { end: () => {} } as unknown as ServerResponse);
        response.writeHead(401, { 'WWW-Authenticate': 'Bearer' }).end('no');
      } else await scene.record(request, response);
    };
  };

  test.each([
    ['without a body', undefined, [], false],
    ['with a body', 'x'.repeat(64 * 1024), [], false],
    ['with a body in chunks', 'x'.repeat(64 * 1024), ['Transfer-Encoding', 'chunked'], false],
    ['with a body that the service did not read', 'x'.repeat(1000), [], true],
  ] as const)('makes a new run, with which a request %s is sent again', async (_, body, headers, isEarly) => {
    scene.respond = rejecting(1, isEarly);
    const ask = { method: 'POST', headers, ...(body === undefined ? {} : { body }) };
    expect(await scene.send('tickets', ask)).toMatchObject({ status: 200, text: 'ok' });
    expect(scene.received.at(-1)?.body).toBe(body ?? '');
    expect(scene.received).toHaveLength(isEarly ? 1 : 2);
    expect(await scene.send('tickets')).toMatchObject({ status: 200 });
    expect(tokenIn(scene.received.at(-1)!)).toBe(tokenIn(scene.received.at(-2)!));
  });

  test('goes back where the body was longer than 64 KiB, and the next request has a new run', async () => {
    for (const headers of [[], ['Transfer-Encoding', 'chunked']]) {
      scene.respond = rejecting(1);
      const body = 'x'.repeat(64 * 1024 + 1);
      const answer = await scene.send('tickets', { method: 'POST', headers, body });
      expect([answer.status, answer.text]).toEqual([401, 'no']);
      expect(valuesOf(answer.headers, 'WWW-Authenticate')).toEqual(['Bearer']);
      expect(scene.received).toHaveLength(1);
      expect((await scene.send('tickets')).status).toBe(200);
      scene.received = [];
    }
  });

  test('goes back after one new run', async () => {
    scene.respond = rejecting(Number.POSITIVE_INFINITY);
    expect(await scene.send('tickets')).toMatchObject({ status: 401, text: 'no' });
    expect(scene.received).toHaveLength(2);
  });

  test('makes one run for all requests that get it, and leaves no other behind', async () => {
    await scene.send('tickets');
    const [old] = scene.received.map(tokenIn);
    const other = `Bearer ${old}`;
    scene.respond = (request, response) =>
      request.headers.authorization === other
        ? response.writeHead(401).end()
        : scene.record(request, response);
    const answers = await Promise.all(Array.from({ length: 20 }, () => scene.send('tickets')));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const tokens = new Set(scene.received.slice(1).map(tokenIn));
    expect(tokens.size).toBe(1);
    await until(async () => (await scene.runs()).length === 1, 'the end of the run that was replaced');
    expect(await scene.introspect(old!)).toEqual({ active: false });
    expect(await scene.introspect([...tokens][0]!)).toMatchObject({ active: true });
  });

  test('of one request does not end the run of another that is still answered', async () => {
    const last = Promise.withResolvers<void>();
    const seen: string[] = [];
    scene.respond = async (request, response) => {
      seen.push(request.headers.authorization?.replace('Bearer ', '') ?? '');
      if (request.url?.endsWith('/stream')) {
        response.write('begun');
        await last.promise;
        return response.end('end');
      }
      return response.writeHead(seen.length === 2 ? 401 : 200).end();
    };
    const stream = await scene.open('tickets/stream');
    expect((await scene.send('tickets')).status).toBe(200);
    expect([seen.length, await scene.introspect(seen[0]!)]).toEqual([
      3,
      expect.objectContaining({ active: true }),
    ]);
    last.resolve();
    await stream.toArray();
    await until(async () => !(await scene.introspect(seen[0]!)).active, 'the end of the replaced run');
  });
});

test('at most 64 requests at once', async () => {
  const release = Promise.withResolvers<void>();
  let waiting = 0;
  scene.respond = async (_, response) => {
    waiting++;
    await release.promise;
    response.end();
  };
  const many = Array.from({ length: 64 }, () => scene.send('tickets'));
  await until(() => waiting === 64, '64 requests');
  expect(await scene.send('tickets')).toMatchObject({
    status: 503,
    text: expect.stringContaining('"temporarily_unavailable"'),
  });
  release.resolve();
  expect(new Set((await Promise.all(many)).map(({ status }) => status))).toEqual(new Set([200]));
  expect((await scene.send('tickets')).status).toBe(200);
});

test('an agent has at most 900 tokens at once, those on their way included', async () => {
  let made = 0;
  const send = async () => ({ body: { access_token: `lk_at_${made++}`, expires_in: 60 } });
  const runs = createRuns({ api: { send }, session: { accessToken: async () => 'lk_at_' } } as never);
  const access = { scopes: ['profile'], resource: undefined };
  const makeMany = () => Promise.all(Array.from({ length: 600 }, () => codeOf(runs.make(access, 60))));
  const codes = [...(await makeMany()), ...(await makeMany())];
  expect(codes.indexOf('rate_limited')).toBe(900);
  expect(made).toBe(900);
});

test('what the person refuses is 403', async () => {
  const isAllowed = async ({ forwardedAs }: AskedAccess) => forwardedAs !== 'tickets';
  const asking = await scene.start({ isAllowed });
  expect(await scene.send('tickets', { of: asking })).toMatchObject({
    status: 403,
    text: expect.stringContaining('"invalid_scope"'),
  });
  await asking.stop();
});

test('502 while the server is out of reach, and 403 once the login is over', async () => {
  const person = await scene.app.login('over@example.com');
  const wire = lossy(scene.app.fetch);
  const own = await scene.start({}, { token: person.access_token, fetch: wire.fetch });
  wire.loseNext(1);
  expect(await scene.send('tickets', { of: own })).toMatchObject({
    status: 502,
    text: expect.stringContaining('"unreachable"'),
  });
  expect((await scene.send('tickets', { of: own })).status).toBe(200);
  await scene.app.ask('POST', '/revoke', { token: person.access_token });
  scene.respond = (_, response) => response.writeHead(401).end();
  expect(await scene.send('tickets', { of: own })).toMatchObject({
    status: 403,
    text: expect.stringContaining('"invalid_token"'),
  });
  await own.stop();
});
