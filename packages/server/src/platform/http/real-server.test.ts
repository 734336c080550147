// Tests that need a real process and real sockets.

import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { startService } from '#support/service.ts';
import { shared } from '#support/shared.ts';
import { until } from '#support/until.ts';

const service = shared(() => startService());

const address = () => ({ hostname: '127.0.0.1', port: Number(new URL(service.url).port) });

/** Sends raw bytes and resolves to what is received until the server closes the connection. */
function exchangeBytes(bytes: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let received = '';
  const done = () => resolve(received);
  Bun.connect({
    ...address(),
    socket: {
      open: (socket) => void socket.write(bytes),
      data: (_socket, data) => {
        received += data.toString('latin1');
      },
      close: done,
      error: done,
      connectError: done,
    },
  }).catch(done);
  return promise;
}

const isAlive = async () => (await fetch(`${service.url}/healthz`)).status === 200;

const get = (path: string, lines: string) =>
  exchangeBytes(`GET ${path} HTTP/1.1\r\n${lines}\r\nConnection: close\r\n\r\n`);

test('a request with two Host headers, or with one that is more than a host and a port, is 400', async () => {
  const hosts = ['localhost\r\nHost: evil.example', 'user@localhost', '[', 'a:1:2', 'local host', 'a/b?'];
  for (const host of hosts) {
    for (const path of ['/healthz', '/api/v1/auth/me', '/device', '/sign-out?state=x', '/nowhere']) {
      const answer = await get(path, `Host: ${host}`);
      expect([host, path, answer.slice(0, 12)]).toEqual([host, path, 'HTTP/1.1 400']);
      expect(answer).toContain('"error":"invalid_request"');
    }
  }
  for (const host of ['', 'LOCALHOST', '[::1]:8787', 'xn--bcher-kva.example.:443', 'my_host'])
    expect([host, (await get('/healthz', `Host: ${host}`)).slice(0, 12)]).toEqual([host, 'HTTP/1.1 200']);
});

test('a Content-Length over the limit is refused without waiting for the body', async () => {
  const answer = await exchangeBytes(
    'POST /api/v1/auth/device HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9999999\r\n\r\n',
  );
  expect(answer).toStartWith('HTTP/1.1 413');
  expect(answer).toContain('"error":"payload_too_large"');
});

const head = 'Host: localhost\r\n';

test('HEAD has the same status and headers as GET, and no body', async () => {
  const { access_token } = await service.login('head@example.com');
  const ask = async (method: string, path: string, line: string) => {
    // The server closes, so that no peer waits for a timeout.
    const lines = `${head}${line}\r\nX-Request-Id: same\r\nConnection: close`;
    const answer = await exchangeBytes(`${method} /${path} HTTP/1.1\r\n${lines}\r\n\r\n`);
    const [top = '', body = ''] = answer.split('\r\n\r\n', 2);
    const sent = top.toLowerCase().split('\r\n');
    return { top: sent.filter((one) => !/^(date|connection):/.test(one)).sort(), body };
  };
  const api = ['me', 'organizations', 'sessions', 'passkeys', 'events', 'nothing', 'token'];
  const pages = ['login', 'docs', 'openapi.json', 'metrics', 'dev/mailbox', '', 'nowhere'];
  for (const path of [...api.map((name) => `api/v1/auth/${name}`), 'healthz', 'readyz', ...pages]) {
    for (const line of [`Authorization: Bearer ${access_token}`, 'Accept: */*']) {
      const [got, asked] = [await ask('GET', path, line), await ask('HEAD', path, line)];
      expect([path, asked.body]).toEqual([path, '']);
      // The metrics count this very request.
      if (path !== 'metrics') expect([path, asked.top]).toEqual([path, got.top]);
    }
  }
});

test('the body of a request that takes none is skipped, and the connection serves the next request', async () => {
  const path = '/api/v1/auth/sessions';
  const last = `GET /healthz HTTP/1.1\r\n${head}Connection: close\r\n\r\n`;
  for (const request of [`GET ${path}`, `DELETE ${path}/ses_AAAAAAAAAAAAAAAAAAAAAA`]) {
    for (const size of [10, 200_000]) {
      const body = 'GET /smuggled HTTP/1.1\r\n\r\n'.padEnd(size, ' ').slice(0, size);
      const first = `${request} HTTP/1.1\r\n${head}Content-Length: ${size}\r\n\r\n${body}`;
      const answer = await exchangeBytes(`${first}${last}`);
      const statuses = [...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
      expect([request, size, ...statuses]).toEqual([request, size, '401', '200']);
    }
  }
});

test('the address of a client is recorded although it disconnects with the last byte of its request', async () => {
  const body = JSON.stringify({ client_name: 'a client that leaves' });
  const lines = `${head}Content-Type: application/json\r\nContent-Length: ${body.length}`;
  const socket = await Bun.connect({ ...address(), socket: { data: () => undefined } });
  socket.write(`POST /api/v1/auth/device HTTP/1.1\r\n${lines}\r\n\r\n${body.slice(0, -1)}`);
  // The server has accepted the connection once it has answered another one, and read this much when it does so again.
  for (let answered = 0; answered < 2; answered++) expect(await isAlive()).toBe(true);
  socket.write(body.slice(-1));
  socket.terminate();
  using store = new Database(new URL(service.env['DATABASE_URL']!).pathname, { readonly: true });
  const query = "SELECT ip_address FROM device_authorizations WHERE client_name = 'a client that leaves'";
  const addresses = () => store.query(query).values().flat();
  await until(() => addresses().length > 0, 'the address of a request');
  expect(addresses()).toEqual(['127.0.0.1']);
});
