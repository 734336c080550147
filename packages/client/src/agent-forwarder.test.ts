// What an agent does to the requests that it forwards and to the responses.

import { afterEach, describe, expect, test } from 'bun:test';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { openForwarding, tokenIn, valuesOf } from '#support/forwarding.ts';
import { shared } from '#support/shared.ts';
import { until } from '#support/until.ts';

const scene = shared(openForwarding);
afterEach(() => scene.reset());

test('the service gets the request as it is, with a run of exactly the scopes, which all requests share', async () => {
  await scene.send('tickets/list//a;b=c|d?to=../../x%2F#', { headers: ['X-A', '1'] });
  await scene.send('tickets', { method: 'PATCH', body: 'more' });
  await scene.send('tickets/', { method: 'PROPFIND' });
  await scene.send('tickets?q');
  expect(scene.received.map(({ method, url, body }) => [method, url, body])).toEqual([
    ['GET', '/v1/list//a;b=c|d?to=../../x%2F#', ''],
    ['PATCH', '/v1', 'more'],
    ['PROPFIND', '/v1/', ''],
    ['GET', '/v1?q', ''],
  ]);
  expect(new Set(scene.received.map(tokenIn)).size).toBe(1);
  expect(await scene.introspect(tokenIn(scene.received[0]!))).toMatchObject({
    active: true,
    scope: 'tickets:read tickets:write',
    aud: `http://${scene.host}/v1`,
  });
});

/** Header lines as names and values in turn. */
const headersOf = (lines: readonly string[]) => lines.flatMap((line) => line.split(/: (.*)/s).slice(0, 2));

/** Sends a request just as it is written; returns the whole response. */
const sendRaw = (method: string, headers: string, body = ''): Promise<string> =>
  scene.sendBytes(
    `${method} ${scene.base.pathname}/tickets HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${headers}\r\n\r\n${body}`,
  );

test('of the headers of a request those that no hop may change are kept, as often and as they are written; Host and Authorization are set, and the rest is dropped', async () => {
  const kept = headersOf([
    'Accept: text/plain',
    'Accept-Encoding: gzip, br',
    'Content-Type: application/x-own',
    'If-None-Match: "1"',
    'Range: bytes=0-1',
    'Referer: http://127.0.0.1/',
    'User-Agent: curl/8',
    'Via: 1.1 proxy',
    'X-Api-Key: Ã©',
    'X-Real-IP: 192.0.2.7',
    'x_own: 1',
    'x-oDD-cAsE: ',
    'Sec-Fetch-Mode: cors',
    'X-Twice: 1',
    'x-twice: 2',
  ]);
  const dropped = headersOf([
    'Authorization: Bearer of-the-program',
    'authorization: Basic x',
    'Cookie: a=b',
    'Forwarded: for=192.0.2.7',
    'X-Forwarded-For: 192.0.2.7',
    'X-Forwarded-Host: evil.example',
    'x-forwarded-anything: 1',
    'Proxy-Authorization: Basic x',
    'Proxy-Connection: keep-alive',
    'proxy-anything: 1',
    'X_Forwarded-For: 192.0.2.7',
    'X-Original-URL: /admin',
    'x_rewrite_url: /admin',
    'SCRIPT_NAME: /v1',
    'Destination: https://tickets.example/admin',
    `Referer: ${scene.base.href}/tickets`,
    'Proxy_Authorization: Basic x',
    'Content_Length: 9',
    'Keep-Alive: timeout=9',
    'TE: trailers',
    'X-Named: by Connection',
    'X-Other: named by Connection',
    'Connection: x-named, close',
    'Connection: X-OTHER',
  ]);
  await scene.send('tickets', { headers: [...kept, ...dropped] });
  const received = scene.received[0]!.headers;
  const set = /^(host|authorization|connection)$/i;
  expect(received.filter((_, at) => !set.test(received[at - (at % 2)]!))).toEqual(kept);
  expect(valuesOf(received, 'Host')).toEqual([scene.host]);
  expect(valuesOf(received, 'Authorization')).toEqual([expect.stringMatching(/^Bearer lk_at_\S+$/)]);
  expect(valuesOf(received, 'Connection')).toEqual(['close']);
});

const length = 'Content-Length: 4';
const chunked = 'Transfer-Encoding: chunked';

test.each([
  ['a length', 'GET', length, 'body', length],
  ['a repeated length', 'POST', `${length}\r\n${length}`, 'body', length],
  ['a length that Connection names', 'PUT', `Connection: content-length\r\n${length}`, 'body', length],
  ['a length, after a wait', 'PUT', `Expect: 100-continue\r\n${length}`, 'body', length],
  ['chunks', 'GET', 'Transfer-Encoding: Chunked', '4\r\nbody\r\n0\r\n\r\n', chunked],
  ['trailers', 'POST', `${chunked}\r\nTrailer: X-A`, '4\r\nbody\r\n0\r\nX-A: 1\r\n\r\n', chunked],
  ['no body', 'POST', 'X-Own: 1', '', 'Content-Length: 0'],
  ['no body, of a method that has none', 'GET', 'X-Own: 1', '', ''],
  ['no body, of another method that has none', 'DELETE', 'X-Own: 1', '', ''],
])('the framing of the body is set: %s', async (_, method, headers, body, framing) => {
  expect(await sendRaw(method, headers, body)).toContain('HTTP/1.1 200 OK\r\n');
  const [{ headers: received, body: arrived } = { headers: [], body: '' }] = scene.received;
  const framed = ['Content-Length', 'Expect', 'Transfer-Encoding', 'Trailer', 'X-A'].flatMap((name) =>
    valuesOf(received, name).map((value) => `${name}: ${value}`),
  );
  expect([framed.join(), arrived]).toEqual([framing, body && 'body']);
});

test('of the headers of a response, however many, those of the hop and cookies are dropped, and redirects are not followed', async () => {
  const kept = headersOf([
    'Content-Encoding: gzip',
    'Date: Thu, 01 Jan 1970 00:00:00 GMT',
    'Location: https://elsewhere.example/',
    'WWW-Authenticate: Bearer',
    'X-Forwarded-Host: Ã©',
    'X-Twice: 1',
    'X-Twice: 2',
    ...Array.from({ length: 1500 }, () => 'a: '),
  ]);
  const dropped = headersOf([
    'Connection: x-own',
    'Keep-Alive: timeout=99',
    'Proxy-Authenticate: Basic',
    'Set-Cookie: a=b',
    'set-cookie: c=d',
    'Trailer: X-Later',
    'Upgrade: h2c',
    'X-Own: 1',
  ]);
  scene.respond = (_, response) =>
    response.writeHead(302, 'As It Came', [...kept, ...dropped]).end('unfollowed');
  const { status, headers, text } = await scene.send('tickets');
  expect([status, text]).toEqual([302, 'unfollowed']);
  expect(headers.slice(0, kept.length)).toEqual(kept);
  for (let at = 0; at < dropped.length; at += 2)
    expect(valuesOf(headers, dropped[at]!)).not.toContain(dropped[at + 1]!);
  expect(headers.join()).not.toContain('lk_at_');
});

describe('404 for', () => {
  const expectNone = async (paths: readonly string[]) => {
    for (const path of paths) expect([path, (await scene.send(path)).status]).toEqual([path, 404]);
    expect(scene.received).toEqual([]);
  };

  test('another name', () =>
    expectNone(['other/list', 'Tickets/list', 'ticket%73/list', '/tickets/list', '../tickets/list', '']));

  test.each([
    ['dot segments', ['/..', '/../v2', '/a/./b', '/.', '/..;x=y/admin']],
    ['encoded dots', ['/%2e%2e/admin', '/.%2E/admin', '/%u002e%u002e/admin']],
    ['backslashes, and what encodes them or slashes', ['/..\\admin', '/a\\b', '/a%5Cb', '/a%2fb']],
    ['dots encoded twice', ['/%252e%252e/admin', '/%25%32%65%2%65/admin', '/%%75002e./admin']],
    ['slashes and semicolons encoded twice', ['/%25252Fadmin', '/a%%32%66b', '/..%253bx/admin']],
    ['what is encoded often', [`/${'%3'.repeat(20)}${'5'.repeat(20)}`]],
    ['dots in too many bytes', ['/%c0%ae%c0%ae/admin', '/%e0%80%ae./admin', '/%f0%80%80%ae./admin']],
    ['full-width dots, slashes and backslashes', ['/%ef%bc%8e./admin', '/a%EF%BC%8Fb', '/a%ef%bc%bcb']],
    ['what is normalized to dots', ['/%E2%80%A5/admin', '/%EF%B8%B0/admin', '/%EF%B9%92%EF%B9%92/admin']],
    [
      'full-width encodings',
      ['/%EF%BC%85%32%65%EF%BC%85%32%65/admin', '/%EF%25BC%258E./admin', '/%EF%BC%85252e./admin'],
    ],
    ['dots beside what a parser may drop', ['/..%00/admin', '/..%20/admin', '/.%09./admin', '/%20../admin']],
    ['dots beside what may be a slash or a space', ['/..%E2%88%95admin', '/..+/admin']],
    ['dots beside what cannot be seen', ['/..%C2%A0/admin', '/.%E2%80%8B./admin', '/..%A0/admin']],
    ['dots before an encoded query or fragment', ['/..%3fx/admin', '/..%253Fx', '/..%23/admin']],
    ['a fragment', ['#/../admin']],
  ])('%s', (_, paths) => expectNone(paths.map((path) => `tickets${path}`)));

  test('a wrong secret, none, and the absolute form', async () => {
    const { pathname, origin } = scene.base;
    const other = pathname.replace(/^../, (start) => (start === '/A' ? '/B' : '/A'));
    for (const path of [
      `${other}tickets`,
      '/tickets',
      '//tickets',
      `${origin}${pathname}tickets`,
      `${pathname.slice(0, -2)}/tickets`,
    ]) {
      const [line] = (
        await scene.sendBytes(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
      ).split('\r\n');
      expect([path, line]).toEqual([path, 'HTTP/1.1 404 Not Found']);
    }
    expect(scene.received).toEqual([]);
  });

  test('nothing else that has dots', async () => {
    for (const path of [
      'tickets/...',
      'tickets/.git/a..b',
      'tickets/a.',
      'tickets/%C3%A9%20%25/caf%E9/%E2%80%A6and/%2541%3F',
      'tickets/%C2%BD/c++/e%CC%81%EF%BC%85',
      'tickets/.%20a/..%EF%BC%A1',
      'tickets/%E0%A4%85%F0%9F%8E%AB%3B%41..',
      'tickets?/../%2e',
    ])
      expect((await scene.send(path)).status).toBe(200);
  });
});

test.each([
  [403, 'GET', ['Origin', 'https://page.example']],
  [403, 'GET', ['Origin', 'null']],
  [403, 'GET', ['Sec-Fetch-Site', 'same-origin']],
  [200, 'GET', ['Sec-Fetch-Site', 'none']],
  [501, 'GET', ['Connection', 'Upgrade', 'Upgrade', 'websocket']],
  [501, 'GET', ['Upgrade', 'h2c']],
  [501, 'TRACE', []],
  [501, 'POST', ['Transfer-Encoding', 'gzip, chunked']],
  [200, 'GET', ['X-Long', 'x'.repeat(30 * 1024)]],
  [431, 'GET', ['X-Long', 'x'.repeat(32 * 1024)]],
] as const)('%i for %s with %j', async (status, method, headers) => {
  expect((await scene.send('tickets', { method, headers })).status).toBe(status);
  expect(scene.received).toHaveLength(status === 200 ? 1 : 0);
});

test('501 for CONNECT, also where nobody reads it', async () => {
  for (let round = 0; round < 20; round++) {
    const socket = connect(Number(scene.base.port), scene.base.hostname);
    socket.write('CONNECT tickets:443 HTTP/1.1\r\nHost: tickets\r\n\r\n', () => socket.resetAndDestroy());
    await once(socket, 'close');
  }

  expect(await scene.sendBytes('CONNECT tickets:443 HTTP/1.1\r\nHost: tickets\r\n\r\n')).toStartWith(
    'HTTP/1.1 501 ',
  );
});

test.each([
  'Content-Length: 4\r\nTransfer-Encoding: chunked',
  'Content-Length: 4\r\nContent-Length: 5',
  'X-A: 1\r\n Authorization: Basic x',
  'X-A : 1',
  'X-A: 1\rX-B: 2',
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity',
])('what two programs could read differently is not forwarded: %j', async (headers) => {
  expect(await sendRaw('POST', headers, '0\r\n\r\n')).toMatch(/^HTTP\/1\.1 (400|501) /);
  expect(scene.received).toEqual([]);
});

describe('a response', () => {
  test('arrives as it is sent, while the request is still being sent', async () => {
    const next = Promise.withResolvers<void>();
    scene.respond = async (request, response) => {
      response.write('first');
      for await (const chunk of request) response.write(`echo ${chunk}`);
      await next.promise;
      response.end('last');
    };
    const { hostname, port, pathname } = scene.base;
    const sent = request({ hostname, port, path: `${pathname}/tickets`, method: 'POST', agent: false });
    sent.flushHeaders();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    let text = '';
    answer.on('data', (chunk) => {
      text += chunk;
    });
    await until(() => text === 'first', 'the first part');
    sent.write('a');
    await until(() => text === 'firstecho a', 'the second part');
    sent.end();
    next.resolve();
    await once(answer, 'end');
    expect(text).toBe('firstecho alast');
  });

  test('that the service breaks off is broken off', async () => {
    for (const length of [{}, { 'Content-Length': '100' }]) {
      scene.respond = (_, response) => {
        response.writeHead(200, length).write('begun');
        response.socket?.end();
        response.socket?.destroySoon();
      };
      const answer = await scene.open('tickets');
      const error = await answer.toArray().catch((error: unknown) => error);
      expect(error).toMatchObject({ code: 'ECONNRESET' });
    }
  });

  test('without a body keeps its length, HEAD and 304, and one without a date stays so', async () => {
    scene.respond = (request, response) => {
      response.sendDate = false;
      response.writeHead(Number(request.url?.split('/').at(-1)), { 'Content-Length': '5' }).end();
    };
    const { status, headers, text } = await scene.send('tickets/200', { method: 'HEAD' });
    expect([status, valuesOf(headers, 'Content-Length'), text]).toEqual([200, ['5'], '']);
    expect(valuesOf(headers, 'Date')).toEqual([]);
    expect((await scene.send('tickets/304')).status).toBe(304);
  });

  test('502 where there is no service, or no HTTP', async () => {
    scene.respond = (_, response) => response.socket?.destroy();
    expect(await scene.send('tickets')).toMatchObject({
      status: 502,
      text: expect.stringContaining('"unreachable"'),
    });
    scene.respond = (_, response) => response.socket?.end('SSH-2.0-server\r\n');
    expect((await scene.send('tickets', { method: 'POST', body: 'x' })).status).toBe(502);
    scene.respond = (_, response) => response.socket?.end('HTTP/1.1 200 O\x01K\r\nContent-Length: 0\r\n\r\n');
    expect((await scene.send('tickets')).status).toBe(502);
  });

  test('that comes before the end of the request leaves the connection usable', async () => {
    // It does not close the connection, which could take its response back.
    scene.respond = (_, response) => response.writeHead(413, { 'Content-Length': 8 }).write('too long');
    const socket = connect(Number(scene.base.port), scene.base.hostname);
    const start = `POST ${scene.base.pathname}/tickets HTTP/1.1\r\nHost: a\r\n`;
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.write(`${start}Content-Length: 2000000\r\n\r\n${'x'.repeat(1_000_000)}`);
    await until(() => text.includes('too long'), 'the first response');
    scene.respond = scene.record;
    socket.write(`${'x'.repeat(1_000_000)}${start}Content-Length: 4\r\n\r\nbody`);
    await until(() => text.includes('HTTP/1.1 200 OK'), 'the second response');
    expect(scene.received.map(({ body }) => body)).toEqual(['body']);
    socket.destroy();
  });

  test.each([true, false])('whose client has gone is canceled, begun or not: %j', async (isBegun) => {
    const [arrived, closed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    scene.respond = (_, response) => {
      if (isBegun) response.write('begun');
      arrived.resolve();
      response.once('close', closed.resolve);
    };
    const socket = connect(Number(scene.base.port), scene.base.hostname);
    socket.write(`GET ${scene.base.pathname}/tickets HTTP/1.1\r\nHost: a\r\n\r\n`);
    await (isBegun ? once(socket, 'data') : arrived.promise);
    socket.destroy();
    await closed.promise;
  });
});
