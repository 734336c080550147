// What the examples in `examples/` do not show about the adapters; `tests/processes/guard.test.ts` runs those.

import { describe, expect, test } from 'bun:test';
import type { ActiveToken } from '../active-token.ts';
import { createGuard, type Guard, type GuardOptions } from '../guard.ts';
import type { Caller } from './caller.ts';
import * as express from './express.ts';
import * as fastify from './fastify.ts';
import * as hono from './hono.ts';
import * as node from './node.ts';
import type { Requirements } from './requirements.ts';

const token: ActiveToken = {
  active: true,
  sub: 'usr_a',
  sid: 'ses_a',
  exp: 2_000_000_000,
  authorization_details: [{ type: 'deployment' }],
};
const verifier: GuardOptions['verifier'] = {
  verify: async (accessToken) => (accessToken === 'lk_at_a' ? token : { active: false }),
  issuer: async () => 'https://login.example',
};
const guard = createGuard({ verifier });

interface Outcome {
  readonly status?: number;
  readonly body?: string;
  readonly caller?: Caller | undefined;
  readonly isHandled?: true;
  /** Of `callerOf`. */
  readonly error?: string;
}

type Headers = Record<string, string | string[]>;

/** Sends one request through each adapter: the caller that a handler gets, or the response. */
const adapters: Record<
  string,
  (guard: Guard, headers: Headers, needed: Requirements, path?: string, method?: string) => Promise<Outcome>
> = {
  express: async (guard, headers, needed, path = '/', method = 'GET') => {
    const request = { method, url: '/', originalUrl: path, headers };
    const { outcome, response } = outgoing();
    let handled: Outcome | undefined;
    await express.requireCaller(guard, needed)(request, response, () => {
      handled = handle(() => express.callerOf(request));
    });
    return handled ?? outcome;
  },
  fastify: async (guard, headers, needed, path = '/', method = 'GET') => {
    const request = { method, url: path, headers };
    const { outcome, reply } = outgoing();
    const result = await fastify.requireCaller(guard, needed)(request, reply);
    return result === reply ? outcome : handle(() => fastify.callerOf(request));
  },
  hono: async (guard, headers, needed, path = '/', method = 'GET') => {
    const raw = new Request(`https://a.example${path}`, { method, headers: webHeaders(headers) });
    const context = { req: { raw } };
    let handled: Outcome = {};
    const response = await hono.requireCaller(guard, needed)(context, async () => {
      handled = handle(() => hono.callerOf(context));
    });
    return response ? { status: response.status, body: await response.text() } : handled;
  },
  node: async (guard, headers, needed, path = '/', method = 'GET') => {
    const { outcome, response } = outgoing();
    const caller = await node.requireCaller(guard, { method, url: path, headers }, response, needed);
    return { ...outcome, caller };
  },
};

/** What a handler behind the guard gets. */
function handle(callerOf: () => Caller): Outcome {
  try {
    return { isHandled: true, caller: callerOf() };
  } catch (error) {
    return { isHandled: true, error: String(error) };
  }
}

const webHeaders = (headers: Headers): [string, string][] =>
  Object.entries(headers).flatMap(([name, value]) =>
    [value].flat().map((one): [string, string] => [name, one]),
  );

/** A response object of Node or Fastify that records what is sent. */
function outgoing() {
  const outcome: { status?: number; body?: string } = {};
  const status = (code: number) => {
    outcome.status = code;
  };
  const body = (text: string) => {
    outcome.body = text;
  };
  return {
    outcome,
    response: { writeHead: status, end: body },
    reply: { code: status, headers: () => {}, send: body },
  };
}

for (const [name, ask] of Object.entries(adapters)) {
  describe(name, () => {
    test('a handler gets the caller, and only where the token has what the route requires and heeds', async () => {
      const heeds = ['deployment'];
      const bearer = 'Bearer lk_at_a';
      const { status, caller } = await ask(guard, { authorization: bearer }, { heeds });
      expect(status).toBeUndefined();
      expect(caller).toMatchObject({ subject: 'usr_a', authorizationDetails: [{ type: 'deployment' }] });
      // A header with several values authorizes nothing.
      for (const [authorization, needed, expected] of [
        [bearer, {}, 403],
        [bearer, { heeds, scopes: ['projects:read'] }, 403],
        [[bearer, bearer], { heeds }, 401],
      ] as const) {
        const { status, caller } = await ask(guard, { authorization: [...[authorization].flat()] }, needed);
        expect([status, caller]).toEqual([expected, undefined]);
      }
    });

    test('a guard over the whole program serves the metadata of its resource, also to a preflight; another preflight passes without a caller', async () => {
      const asks = { origin: 'https://page.example', 'access-control-request-method': 'POST' };
      const resource = 'https://a.example';
      const withResource = createGuard({ verifier, resource });
      const document = '/.well-known/oauth-protected-resource';
      const { status, body = '', caller } = await ask(withResource, {}, {}, document);
      expect([status, caller]).toEqual([200, undefined]);
      expect(JSON.parse(body)).toMatchObject({ resource });
      expect((await ask(withResource, {}, {}, `${document}/b`)).status).toBe(401);
      for (const one of [guard, withResource]) {
        const outcome = await ask(one, asks, {}, '/', 'OPTIONS');
        if (name === 'node') expect([outcome.status, outcome.body]).toEqual([204, '']);
        else expect(outcome).toEqual({ isHandled: true, error: expect.stringContaining('requireCaller') });
        expect((await ask(one, {}, {}, '/', 'OPTIONS')).status).toBe(401);
      }
      expect((await ask(withResource, asks, {}, document, 'OPTIONS')).status).toBe(204);
    });
  });
}

test('a route without requireCaller has no caller, and says what is missing', () => {
  const request = { headers: { authorization: 'Bearer lk_at_a' } };
  expect(() => express.callerOf(request)).toThrow('requireCaller');
  expect(() => fastify.callerOf(request)).toThrow('requireCaller');
  expect(() => hono.callerOf({ req: { raw: new Request('https://a.example') } })).toThrow('requireCaller');
});

test('requirements that no token can meet fail when the route is declared', () => {
  for (const { requireCaller } of [express, fastify, hono])
    expect(() => requireCaller(guard, { scopes: ['two names'] })).toThrow(RangeError);
});
