// One suite of SDK tests on every supported runtime, against a real service over HTTP.

import { afterAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { newPage } from '#support/browser.ts';
import type { Findings, SuiteOptions } from '#support/client-suite.ts';
import { loginByMail } from '#support/http.ts';
import { findNode } from '#support/node.ts';
import { startService, temporaryDirectory } from '#support/service.ts';
import { shared } from '#support/shared.ts';
import { waitTimeoutMs } from '#support/until.ts';

const support = join(import.meta.dir, '../support');
const serviceKey = 'svc_suite:secret';

const service = shared(() =>
  startService({
    env: { LATCHKEY_DEVICE_POLL_INTERVAL: '1', LATCHKEY_ALLOWED_ORIGINS: other.url.origin },
  }),
);

/** A page on another origin to run the suite in, and the second server that the suite needs. */
const other = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  idleTimeout: 60,
  fetch: async (request) => {
    const headers = {
      'Access-Control-Allow-Origin': '*',
      'Access-Control-Allow-Headers': 'Authorization',
      'Access-Control-Expose-Headers': 'X-Request-Id',
      'X-Request-Id': 'r',
    };
    if (request.method === 'OPTIONS') return new Response(null, { status: 204, headers });
    switch (new URL(request.url).pathname) {
      case '/api/v1/auth/introspect': {
        const isActive = new URLSearchParams(await request.text()).get('token') === 'lk_at_active';
        const isKnown = request.headers.get('Authorization') === `Basic ${btoa(serviceKey)}`;
        const active = { active: true, sub: 'usr_suite', sid: 'ses_suite', exp: Date.now() / 1000 + 60 };
        return Response.json(isActive && isKnown ? active : { active: false }, { headers });
      }
      case '/never':
        return new Promise<Response>(() => {});
      case '/redirect':
        return new Response(null, { status: 302, headers: { ...headers, Location: '/never' } });
      default:
        return new Response('<!doctype html><title>suite</title>', {
          headers: { 'Content-Type': 'text/html' },
        });
    }
  },
});

afterAll(async () => {
  other.stop(true);
});

async function suiteOptions(): Promise<SuiteOptions> {
  const { access_token: approver } = await loginByMail(service.url, 'suite@example.com');
  return { server: service.url, approver, introspection: other.url.origin, serviceKey };
}

async function bundled(target: 'node' | 'browser'): Promise<string> {
  const name = target === 'node' ? 'client-suite-program.ts' : 'client-suite.ts';
  const { outputs } = await Bun.build({ entrypoints: [join(support, name)], target, format: 'esm' });
  return outputs[0]!.text();
}

/** Runs a program that prints its findings; one that hangs is killed. */
async function run(...command: string[]): Promise<Findings> {
  const child = Bun.spawn([...command, JSON.stringify(await suiteOptions())], {
    timeout: waitTimeoutMs,
    stderr: 'pipe',
  });
  const [out, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) !== 0) throw new Error(`${command[0]}: ${errors}`);
  return JSON.parse(out);
}

function expectPromisesKept(findings: Findings): void {
  expect(findings).toEqual({
    secondsBetweenPolls: [],
    firstToken: true,
    email: 'suite@example.com',
    refreshesOf50: 1,
    tokensOf50: 1,
    refreshesWithLostAnswer: 2,
    sameKey: true,
    storedBeforeUsed: true,
    lastTokenWorks: 200,
    verified: ['usr_suite', 'inactive'],
    wrongToken: 'invalid_token',
    namesTheRequest: true,
    neverAnswers: 'timeout',
    redirects: 'not_latchkey',
    isNoLatchkey: 'not_latchkey',
    unreachable: 'unreachable',
    aborted: 'aborted',
    logout: 'no error',
    afterLogout: 'not_logged_in',
    tokenAfterLogout: 'invalid_token',
  });
}

const node = findNode();

test('the SDK keeps its promises on Bun', async () => {
  expectPromisesKept(await run(process.execPath, join(support, 'client-suite-program.ts')));
});

test.skipIf(!node)(
  node
    ? 'the SDK keeps its promises on Node'
    : 'the SDK on Node: skipped, because Node 22.13 or later was not found',
  async () => {
    const program = join(temporaryDirectory(), 'suite.mjs');
    await Bun.write(program, await bundled('node'));
    expectPromisesKept(await run(node!, program));
  },
);

test('the SDK keeps its promises in a browser, on a page of another origin', async () => {
  const page = await newPage();
  await page.goto(other.url.href);
  const source = await bundled('browser');
  const findings = await page.evaluate(
    async ({ source, options }) => {
      const url = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
      const suite = await import(url);
      return suite.runSuite(options);
    },
    { source, options: await suiteOptions() },
  );
  expectPromisesKept(findings);
});
