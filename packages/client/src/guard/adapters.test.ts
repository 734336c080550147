// What the examples do not show about the adapters, on each framework; `tests/processes/guard.test.ts` runs those.

import { expect, test } from 'bun:test';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import expressProgram from 'express';
import fastifyProgram from 'fastify';
import { Hono } from 'hono';
import { closeAtTestEnd } from '#support/cleanup.ts';
import { createGuard, type Guard } from '../guard.ts';
import * as express from './express.ts';
import * as fastify from './fastify.ts';
import * as hono from './hono.ts';
import * as node from './node.ts';

const verifier = {
  verify: async () => ({ active: false }) as const,
  issuer: async () => 'https://login.example',
};
const resource = 'https://a.example';
const guard = createGuard({ verifier });

type Ask = (path: string, init?: RequestInit) => Response | Promise<Response>;

async function serve(listener: RequestListener): Promise<Ask> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closeAtTestEnd(async () => void server.close());
  return (path, init) => fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, init);
}

/** What a handler learns of a request without a caller. */
function errorOf(callerOf: () => unknown): string {
  try {
    callerOf();
    return 'a caller';
  } catch (error) {
    return String(error);
  }
}

/** A program with this guard over all of it, whose handlers answer with the error of `callerOf`. */
const programs: Record<string, (guard: Guard) => Promise<Ask>> = {
  express: (guard) =>
    serve(
      // A router shortens the URL of its requests.
      expressProgram().use(['/.well-known', '/'], express.requireCaller(guard), (request, response) => {
        response.send(errorOf(() => express.callerOf(request)));
      }),
    ),
  fastify: async (guard) => {
    const program = fastifyProgram().addHook('onRequest', fastify.requireCaller(guard));
    program.all('*', async (request) => errorOf(() => fastify.callerOf(request)));
    await program.ready();
    return serve(program.routing);
  },
  hono: async (guard) =>
    new Hono()
      .use(hono.requireCaller(guard))
      .all('*', (context) => context.text(errorOf(() => hono.callerOf(context)))).request,
  node: (guard) => serve((request, response) => void node.requireCaller(guard, request, response)),
};

test.each(Object.entries(programs))(
  '%s: a guard over the whole program serves the metadata of its resource, also to a preflight; another preflight passes without a caller, and is allowed nothing',
  async (name, start) => {
    const document = '/.well-known/oauth-protected-resource';
    const headers = { Origin: 'https://page.example', 'Access-Control-Request-Method': 'POST' };
    const preflight = { method: 'OPTIONS', headers };
    const [plain, ask] = [await start(guard), await start(createGuard({ verifier, resource }))];
    expect(await (await ask(document)).json()).toMatchObject({ resource });
    expect((await ask(document, preflight)).status).toBe(204);
    expect((await ask(`${document}/b`)).status).toBe(401);
    for (const one of [plain, ask]) {
      const passed = await one('/', preflight);
      if (name === 'node') expect(passed.status).toBe(204);
      else expect(await passed.text()).toContain('add requireCaller');
      expect([...passed.headers.keys()].join()).not.toContain('access-control');
      for (const refused of [{ method: 'OPTIONS' }, { ...preflight, method: 'POST' }])
        expect((await one('/', refused)).status).toBe(401);
    }
  },
);

test('requirements that no token can meet fail when the route is declared', () => {
  for (const { requireCaller } of [express, fastify, hono])
    expect(() => requireCaller(guard, { scopes: ['two names'] })).toThrow(RangeError);
});
