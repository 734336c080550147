// The guide for services that rely on Latchkey, and the examples for each framework, as processes against a real
// service.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { proxyTo } from '#support/cli.ts';
import { examples, startExample } from '#support/example.ts';
import { codeBlocks, exampleText } from '#support/guides.ts';
import { serviceAt } from '#support/http.ts';
import { findNode } from '#support/node.ts';
import { operatorOn, registerService, startService } from '#support/service.ts';
import { shared } from '#support/shared.ts';

const [firstBlock = '', ...otherBlocks] = await codeBlocks('docs/siblings.md', 'ts');
const maxGuideLines = 20;

const owner = 'ada@example.com';

const service = shared(() => startService());
let serviceKey: string;
let isUnavailable = false;

/** Passes introspection on to the service unless that is to be unavailable. */
const latchkey = proxyTo(service, (_, __, forward) =>
  isUnavailable ? new Response('out of order', { status: 503, headers: { 'Retry-After': '7' } }) : forward(),
);

beforeAll(async () => {
  // As in the guide.
  serviceKey = await registerService(
    service,
    'projects',
    ...['--resource', 'https://projects.example'],
    ...['--scope', 'projects:read=See your projects'],
    ...['--scope', 'projects:write=Change and delete your projects'],
  );
  await service.login(owner);
  const { done } = operatorOn(service.env);
  for (const [slug, role] of [
    ['acme', 'owner'],
    ['bolt', 'member'],
  ] as const) {
    await done('organizations', 'create', '--slug', slug, '--name', slug);
    await done('organizations', 'add-member', '--slug', slug, '--email', owner, '--role', role);
  }
});

afterAll(() => latchkey.stop());

test(`the guide begins with a whole service of at most ${maxGuideLines} lines, and every other text in it is a part of an example`, async () => {
  expect(firstBlock).toBe(await exampleText('express.ts'));
  expect(firstBlock.split('\n').filter(Boolean).length).toBeLessThanOrEqual(maxGuideLines);
  const names = ['hono', 'fastify', 'node', 'web'];
  const programs = await Promise.all(names.map((name) => exampleText(`${name}.ts`)));
  expect(otherBlocks.length).toBeGreaterThan(0);
  for (const block of otherBlocks)
    expect(programs.filter((program) => program.includes(block))).toHaveLength(1);
});

/** The access token of a recent sign-in, which may do everything. */
const recentToken = async (): Promise<string> => (await service.login(owner)).access_token;

/** The organizations as a service sees them. */
const organizations = ['personal', 'acme', 'bolt'].map((slug) => ({
  id: expect.stringMatching(/^org_/),
  slug: slug === 'personal' ? expect.stringMatching(/^ada-/) : slug,
  role: slug === 'bolt' ? 'member' : 'owner',
}));

/** The access token of a device, which is never a recent sign-in. Without a scope it may do everything. */
async function deviceToken(scope?: string): Promise<string> {
  return (await service.deviceLogin(await service.login(owner), { scope })).access_token;
}

/** Each kind of decision of the guard, as a client of this program sees it. `packages/client/src/guard.test.ts` has all of them. */
async function expectGuarded(command: readonly string[]): Promise<void> {
  isUnavailable = false;
  const { url } = await startExample(command, { LATCHKEY_SERVER: latchkey.url, SERVICE_KEY: serviceKey });
  const ask = (method: string, path: string, token?: string) =>
    serviceAt(url).ask(method, path, {
      ...(token && { token }),
      headers: { 'X-Request-Id': 'from-the-test' },
    });
  const list = (token?: string) => ask('GET', 'projects', token);
  const remove = (slug: string, token: string) => ask('DELETE', `organizations/${slug}/projects`, token);
  const token = await recentToken();
  const listed = await list(token);
  expect([listed.status, listed.body]).toEqual([
    200,
    { user: expect.stringMatching(/^usr_/), organizations },
  ]);
  expect((await remove('acme', token)).status).toBe(204);
  expect((await remove('bolt', token)).status).toBe(403);

  const anonymous = await list();
  expect(anonymous.headers.get('WWW-Authenticate')).toBe('Bearer realm="latchkey"');
  const refusal = { error: 'invalid_token', request_id: 'from-the-test' };
  expect(anonymous).toMatchObject({ status: 401, body: refusal });
  const [narrow, device] = [await deviceToken('projects:read organizations'), await deviceToken()];
  for (const one of [narrow, device]) expect((await list(one)).status).toBe(200);
  for (const [answer, status, error, end] of [
    [await list('lk_at_unknown'), 401, 'invalid_token', 'revoked."'],
    [await remove('acme', narrow), 403, 'insufficient_scope', 'scope="projects:write"'],
    [await remove('acme', device), 401, 'insufficient_user_authentication', 'max_age="900"'],
  ] as const) {
    expect([answer.status, answer.body.error]).toEqual([status, error]);
    expect(answer.headers.get('WWW-Authenticate')).toEndWith(end);
  }

  isUnavailable = true;
  const { status, headers, body } = await list(await recentToken());
  expect([status, headers.get('Retry-After'), body.error]).toEqual([503, '7', 'temporarily_unavailable']);
}

const node = findNode();
/** That of the guide is the first one. */
const programs = ['express', 'fastify', 'node', 'hono', 'web'];
/** These export a web-standard handler, which Bun serves by itself. */
const onlyOnBun = ['hono', 'web'];

describe('a service as in the guide: 200, 401, 403, step-up and 503', () => {
  for (const name of programs) {
    const program = join(examples, `${name}.ts`);
    test(`${name}, on Bun`, () => expectGuarded([process.execPath, program]));
    if (onlyOnBun.includes(name)) continue;
    test.skipIf(!node)(
      `${name}, on Node${node ? '' : ': skipped, because Node 22.13 or later was not found'}`,
      () => expectGuarded([node!, program]),
    );
  }
});
