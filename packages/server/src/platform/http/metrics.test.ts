import { expect, test } from 'bun:test';
import { endpoints } from '@latchkey/contract/endpoints';
import { openApp } from '#support/app.ts';
import { rateLimitNames } from '../../settings.ts';
import { signInFailureReasons } from '../../sign-in/failures/failures.ts';

const local = { peer: '127.0.0.1' };

test('metrics are labeled with fixed names, never with input from a client', async () => {
  const t = await openApp('sqlite');
  const ada = await t.login();
  await t.deviceLogin(ada);
  await t.ask('GET', '/me', { token: ada.access_token });
  await t.ask('GET', '/no/such-path-4711');
  await t.ask('PUT', '/me');
  const json = { refresh_token: ada.refresh_token };
  for (const headers of [{ 'Idempotency-Key': 'one' }, { 'Idempotency-Key': 'one' }, {}])
    await t.ask('POST', '/refresh', { json, headers });
  t.pass(60);
  await t.ask('POST', '/refresh', { json });
  await t.ask('POST', '/magic_link', { json: { email: 'waits@example.com' } });
  const { text, headers } = await t.ask('GET', 'metrics', local);
  expect(headers.get('Content-Type')).toStartWith('text/plain; version=0.0.4');
  for (const line of [
    'latchkey_http_requests_total{route="/api/v1/auth/me",method="GET",status="200"} 1',
    'latchkey_http_requests_total{route="unknown",method="GET",status="404"} 1',
    'latchkey_http_requests_total{route="/api/v1/auth/me",method="PUT",status="405"} 1',
    'latchkey_http_request_duration_seconds_count{route="/api/v1/auth/magic_link"} 2',
    'latchkey_logins_total{method="magic_link"} 1',
    'latchkey_logins_total{method="device_code"} 1',
    'latchkey_mails_total{outcome="sent"} 1',
    // The sign-in mail, and the notices of the device and of the stopped theft.
    'latchkey_mails_waiting 3',
    ...['rotated', 'retry', 'race', 'theft'].map(
      (outcome) => `latchkey_refreshes_total{outcome="${outcome}"} 1`,
    ),
  ]) {
    expect(text.split('\n')).toContain(line);
  }
  expect(text).toMatch(/^latchkey_build_info\{version="[^"]+",runtime="bun [^"]+",database="sqlite"\} 1$/m);
  expect(text).not.toMatch(/4711|@|lk_/);
});

test('every counter starts at 0 for every value of its labels', async () => {
  const t = await openApp('sqlite');
  const lines = (await t.ask('GET', 'metrics', local)).text.split('\n');
  const refreshes = ['rotated', 'retry', 'race', 'theft', 'ended', 'disabled', 'unknown', 'malformed'];
  const logins = ['magic_link', 'email_code', 'passkey', 'device_code', 'browser_code'];
  for (const [name, label, values] of [
    ['latchkey_refreshes_total', 'outcome', refreshes],
    ['latchkey_logins_total', 'method', logins],
    ['latchkey_mails_total', 'outcome', ['sent', 'failed', 'given_up']],
    ['latchkey_limits_hit_total', 'limit', rateLimitNames],
    ['latchkey_limiter_failures_total', 'limit', rateLimitNames],
  ] as const) {
    const found = lines.filter((line) => line.startsWith(`${name}{`));
    expect(found.sort()).toEqual(values.map((value) => `${name}{${label}="${value}"} 0`).sort());
  }
  expect(lines).toContain('latchkey_untrusted_forwards_total 0');
  for (const [method, reasons] of Object.entries(signInFailureReasons))
    for (const reason of reasons)
      expect(lines).toContain(`latchkey_sign_in_failures_total{method="${method}",reason="${reason}"} 0`);

  const requests = lines.filter((line) => line.startsWith('latchkey_http_requests_total{'));
  expect(requests.filter((line) => !line.endsWith(' 0'))).toEqual([]);
  const labels = (route: string, method: string, status: number) =>
    `latchkey_http_requests_total{route="${route}",method="${method}",status="${status}"} 0`;
  for (const { method, path, status } of Object.values(endpoints)) {
    const route = path.replaceAll(/\{(\w+)\}/g, ':$1');
    for (const code of [status, 500, 503])
      expect(requests).toContain(labels(route, method.toUpperCase(), code));
  }
  expect(requests).toContain(labels('/login', 'GET', 500));
  expect(lines).toContain('latchkey_http_request_duration_seconds_count{route="/api/v1/auth/refresh"} 0');
});

test('without a metrics token, the metrics are readable from this machine only, and not through a proxy on it or DNS rebinding', async () => {
  const t = await openApp('sqlite', { settings: { LATCHKEY_BASE_URL: 'https://login.example.com' } });
  for (const [url, { peer, headers = {} }, isReadable] of [
    ['http://localhost:8787', local, true],
    ['http://127.0.0.1:8787', local, true],
    ['http://[::1]:8787', { peer: '::1' }, true],
    ['http://localhost:8787', { peer: '192.0.2.1' }, false],
    ['http://localhost:8787', { ...local, headers: { Forwarded: 'for=127.0.0.1' } }, false],
    ['http://evil.example:8787', local, false],
    ['http://localhost.evil.example', local, false],
    ['https://login.example.com', local, false],
  ] as [string, { peer: string; headers?: Record<string, string> }, boolean][]) {
    const { status } = await t.app.fetch(new Request(`${url}/metrics`, { headers }), { peer });
    expect([url, peer, status]).toEqual([url, peer, isReadable ? 200 : 404]);
  }
});

test('with a metrics token, the metrics are readable from anywhere with that token only', async () => {
  const token = 'the-metrics-token-of-the-operator';
  const t = await openApp('sqlite', { settings: { LATCHKEY_METRICS_TOKEN: token } });
  expect((await t.ask('GET', 'metrics', { token })).status).toBe(200);
  for (const ask of [local, { token: `${token}x` }, { token: token.slice(1) }]) {
    const { status, headers } = await t.ask('GET', 'metrics', ask);
    expect([status, headers.get('WWW-Authenticate')]).toEqual([401, 'Bearer realm="metrics"']);
  }
});

test('forwarding headers from an untrusted peer are counted, and logged at most once an hour', async () => {
  const t = await openApp('sqlite', { settings: { LATCHKEY_TRUSTED_PROXIES: '10.0.0.0/8' } });
  const send = (peer: string, headers: Record<string, string>) => t.ask('GET', 'healthz', { peer, headers });
  const warnings = () => t.logs.filter((line) => line.includes('LATCHKEY_TRUSTED_PROXIES')).length;
  await send('10.0.0.1', { 'X-Forwarded-For': '203.0.113.5' });
  await send('198.51.100.1', {});
  expect(warnings()).toBe(0);
  for (let index = 0; index < 5; index++) await send('198.51.100.1', { 'X-Forwarded-For': '203.0.113.5' });
  await send('198.51.100.1', { Forwarded: 'for=203.0.113.5' });
  expect(warnings()).toBe(1);
  t.pass(3601);
  await send('198.51.100.1', { 'X-Forwarded-For': '203.0.113.5' });
  expect(warnings()).toBe(2);
  expect((await t.ask('GET', 'metrics', local)).text).toContain('latchkey_untrusted_forwards_total 7');
  expect(t.logs.join('')).not.toContain('203.0.113.5');
});
