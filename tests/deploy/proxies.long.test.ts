// The examples for Caddy and nginx in front of a real service, with TLS. A test is skipped where its proxy is not installed.

import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { spawnSync } from 'bun';
import { newCertificate } from '#support/certificate.ts';
import { replaced } from '#support/guides.ts';
import { linkTokenIn, mailTo } from '#support/http.ts';
import { reservePort } from '#support/reserved-port.ts';
import { launch, startService, type TestService, temporaryDirectory, untilReady } from '#support/service.ts';

const deploy = join(import.meta.dir, '../../deploy');
/** Where the client connects from. The proxies connect from 127.0.0.1, the only address that the service trusts. */
const clientAddress = '127.0.0.2';

type Ports = Readonly<Record<'http' | 'https', number>>;

interface Proxy {
  /** The certificate of the authority that signed that of the proxy. */
  readonly authority: string;
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

async function caddy(directory: string, upstream: string, { http, https }: Ports): Promise<Proxy> {
  const file = join(directory, 'Caddyfile');
  const options = [
    'admin off',
    'skip_install_trust',
    `http_port ${http}`,
    `https_port ${https}`,
    `storage file_system ${directory}`,
  ];
  await Bun.write(file, `{\n${options.join('\n')}\n}\nimport ${join(deploy, 'Caddyfile')}\n`);
  return {
    authority: join(directory, 'pki/authorities/local/root.crt'),
    command: ['caddy', 'run', '--adapter', 'caddyfile', '--config', file],
    env: { LATCHKEY_UPSTREAM: upstream, HOME: directory },
  };
}

async function nginx(directory: string, upstream: string, { http, https }: Ports): Promise<Proxy> {
  const { cert: authority, directory: certificates } = newCertificate();
  const site = replaced(await Bun.file(join(deploy, 'nginx.conf')).text(), {
    '127.0.0.1:8787': upstream,
    // A second node that is down.
    '# server 127.0.0.1:8788': `server 127.0.0.1:${reservePort()}`,
    'listen 80;': `listen ${http};`,
    'listen 443 ssl': `listen ${https} ssl`,
    '/etc/letsencrypt/live/login.example.com': certificates,
    '/var/log/nginx': directory,
    'login.example.com': 'localhost',
  });
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${name};`,
  );
  const file = join(directory, 'nginx.conf');
  await Bun.write(
    file,
    `daemon off;\npid nginx.pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n${temporary.join('\n')}\n${site}}\n`,
  );
  return { authority, command: ['nginx', '-p', directory, '-e', 'stderr', '-c', file] };
}

/** Sends requests from `clientAddress` over HTTP/2, trusting only this authority. */
const clientOf =
  (url: string, authority: string) =>
  (path: string, { json, headers = [] }: { json?: object; headers?: readonly string[] } = {}) => {
    const body = json === undefined ? [] : ['--json', JSON.stringify(json)];
    const connection = ['--http2', '--interface', clientAddress, '--cacert', authority, '--max-time', '10'];
    const print = ['--silent', '--write-out', '\n%{http_code} %{http_version}'];
    const sent = headers.flatMap((header) => ['--header', header]);
    const { stdout } = spawnSync(['curl', ...connection, ...print, ...body, ...sent, `${url}${path}`]);
    const lines = stdout.toString().split('\n');
    const [status = '', version = ''] = (lines.pop() ?? '').split(' ');
    return { status: Number(status), version, body: lines.join('\n') };
  };

/** Signs in through the proxy; returns the address that the service saw. */
async function addressOfSignIn(ask: ReturnType<typeof clientOf>, service: TestService, headers: string[]) {
  const email = 'proxied@example.com';
  const seen = headers.length;
  expect(ask('/api/v1/auth/magic_link', { json: { email }, headers }).status).toBe(202);
  const token = linkTokenIn(await mailTo(`http://127.0.0.1:${service.env['PORT']}`, email, seen));
  const verified = ask('/api/v1/auth/magic_link/verify', { json: { token }, headers });
  expect([verified.status, verified.version]).toEqual([200, '2']);
  const authorization = `Authorization: Bearer ${JSON.parse(verified.body).access_token}`;
  const { sessions } = JSON.parse(ask('/api/v1/auth/sessions', { headers: [authorization] }).body);
  return sessions.find(({ current }: { current: boolean }) => current).ip_address;
}

const metricsToken = 'token-of-the-metrics';
const tools = Bun.which('curl') && Bun.which('openssl');

for (const [name, proxyOf] of Object.entries({ caddy, nginx })) {
  test.skipIf(!tools || !Bun.which(name))(
    `a sign-in through ${name} uses TLS and HTTP/2, has the address of the client, metrics stay inside, and a node that is back gets requests at once`,
    async () => {
      const ports = { http: reservePort(), https: reservePort() };
      const url = `https://localhost:${ports.https}`;
      const service = await startService({
        env: {
          LATCHKEY_BASE_URL: url,
          LATCHKEY_TRUSTED_PROXIES: '127.0.0.1',
          LATCHKEY_METRICS_TOKEN: metricsToken,
        },
      });
      const upstream = `127.0.0.1:${service.env['PORT']}`;
      const proxy = await proxyOf(temporaryDirectory(), upstream, ports);
      const ask = clientOf(url, proxy.authority);
      const running = launch('/', { PATH: process.env['PATH'] ?? '', ...proxy.env }, proxy.command);
      await untilReady(name, running, () => ask('/readyz').status === 200);
      expect(await addressOfSignIn(ask, service, [])).toBe(clientAddress);
      // A client cannot choose its address.
      expect(await addressOfSignIn(ask, service, ['X-Forwarded-For: 203.0.113.5'])).toBe(clientAddress);
      const headers = [`Authorization: Bearer ${metricsToken}`];
      expect(ask('/metrics', { headers }).status).toBe(404);
      const plain = await fetch(`http://localhost:${ports.http}/login`, { redirect: 'manual' });
      expect(plain.headers.get('Location')).toMatch(/^https:\/\/localhost.*\/login$/);
      await service.stop();
      expect(ask('/healthz').status).toBeGreaterThanOrEqual(502);
      await startService(service);
      expect(ask('/healthz').status).toBe(200);
    },
  );
}
