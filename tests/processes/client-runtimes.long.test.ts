// One suite of SDK tests on every supported runtime, against a real service over HTTP.

import { afterAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { newPage } from '#support/browser.ts';
import { newHome, runIn } from '#support/cli.ts';
import type { Findings, SuiteOptions } from '#support/client-suite.ts';
import { loginByMail } from '#support/http.ts';
import { findNode } from '#support/node.ts';
import { startService, temporaryDirectory } from '#support/service.ts';
import { shared } from '#support/shared.ts';

const support = join(import.meta.dir, '../support');

const service = shared(() => startService({ env: { LATCHKEY_ALLOWED_ORIGINS: other.url.origin } }));

/** A page on another origin to run the suite in, and the second server that the suite needs. */
const other = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  idleTimeout: 60,
  fetch: (request) => {
    const headers = {
      'Access-Control-Allow-Origin': '*',
      'Access-Control-Allow-Headers': 'Authorization',
      'Access-Control-Expose-Headers': 'X-Request-Id',
      'X-Request-Id': 'r',
    };
    if (request.method === 'OPTIONS') return new Response(null, { status: 204, headers });
    switch (new URL(request.url).pathname) {
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

afterAll(() => other.stop(true));

async function suiteOptions(): Promise<SuiteOptions> {
  const tokens = await loginByMail(service.url, 'suite@example.com');
  return { server: service.url, tokens, other: other.url.origin };
}

async function bundled(target: 'node' | 'browser'): Promise<string> {
  const name = target === 'node' ? 'client-suite-program.ts' : 'client-suite.ts';
  const { outputs } = await Bun.build({ entrypoints: [join(support, name)], target, format: 'esm' });
  return outputs[0]!.text();
}

/** Runs a program that prints its findings. */
async function run(...command: string[]): Promise<Findings> {
  const { code, stdout, stderr } = await runIn(newHome(), [...command, JSON.stringify(await suiteOptions())]);
  if (code !== 0) throw new Error(`${command[0]}: ${stderr}`);
  return JSON.parse(stdout);
}

function expectPromisesKept(findings: Findings): void {
  expect(findings).toEqual({
    email: 'suite@example.com',
    refreshesOf50: 1,
    tokensOf50: 1,
    refreshesWithLostAnswer: 2,
    sameKey: true,
    lastTokenWorks: 200,
    wrongToken: 'invalid_token',
    namesTheRequest: true,
    neverAnswers: 'timeout',
    redirects: 'not_latchkey',
    isNoLatchkey: 'not_latchkey',
    unreachable: 'unreachable',
    aborted: 'aborted',
    logout: 'no error',
    afterLogout: 'not_logged_in',
  });
}

const node = findNode();

test('the SDK keeps its promises on Bun', async () => {
  expectPromisesKept(await run(process.execPath, join(support, 'client-suite-program.ts')));
});

test.skipIf(!node)('the SDK keeps its promises on Node (22.13 or later)', async () => {
  const program = join(temporaryDirectory(), 'suite.mjs');
  await Bun.write(program, await bundled('node'));
  expectPromisesKept(await run(node!, program));
});

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
