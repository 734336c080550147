// Unmodified OAuth clients, which do not know `Idempotency-Key`: twenty processes share one stored login, lose responses and are
// killed, and nobody has to sign in again.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exportJWK, generateKeyPair } from 'jose';
import * as openid from 'openid-client';
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.ts';
import { loginByMail, request } from '../support/http.ts';
import type { ClientName, Identity } from '../support/oauth-client-worker.ts';
import { refreshesDuring } from '../support/refreshes.ts';
import { registerService, startService, type TestService, temporaryDirectory } from '../support/service.ts';
import { startWorker, type Worker } from '../support/worker.ts';

const sharers = 20;
const refreshes = 1000;
const redirectUri = 'http://127.0.0.1/callback';

/** What happens in a round, in which all of them refresh the same token. */
const troubles = [
  'none',
  'every response is lost',
  'none',
  'one is killed before its request',
  'none',
  'every second response is lost',
  'none',
  'one is killed, and its response was lost',
  'none',
  'one is killed before it has stored its tokens',
] as const;

let proxy: FaultProxy;
let service: TestService;
let host: ReturnType<typeof Bun.serve>;
let clients: Readonly<Record<ClientName, Identity & { readonly auth: openid.ClientAuth }>>;

beforeAll(async () => {
  proxy = await startFaultProxy(0);
  const server = `http://127.0.0.1:${proxy.port}`;
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
  const jwks = { keys: [await exportJWK(publicKey)] };
  host = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () =>
      Response.json({
        client_id: clientId,
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: 'private_key_jwt',
        jwks,
      }),
  });
  const clientId = `http://127.0.0.1:${host.port}/client`;
  service = await startService({
    env: {
      LATCHKEY_BASE_URL: server,
      LATCHKEY_CLIENT_HOSTS: `127.0.0.1:${host.port}`,
      // The default is too short for a busy machine.
      LATCHKEY_REFRESH_REUSE_LEEWAY: '600',
    },
  });
  proxy.redirect(Number(service.env['PORT']));
  const [confidentialId = '', secret = ''] = (await register('desk')).split(':');
  clients = {
    'openid-client': {
      ...{ server, clientId, privateJwk: await exportJWK(privateKey) },
      auth: openid.PrivateKeyJwt(privateKey),
    },
    oauth4webapi: {
      ...{ server, clientId: confidentialId, secret },
      auth: openid.ClientSecretPost(secret),
    },
    'the MCP SDK': { server, clientId: await register('shelf', '--public'), auth: openid.None() },
  };
});

afterAll(async () => {
  await service.stop();
  await host.stop(true);
  proxy.close();
});

const register = (name: string, ...options: string[]): Promise<string> =>
  registerService(service, name, '--redirect', redirectUri, ...options);

/** Signs a person in to a client, and stores the tokens in a new file. */
async function signIn(email: string, { server, clientId, auth }: (typeof clients)[ClientName]) {
  const { access_token: token } = await loginByMail(service.url, email);
  const config = await openid.discovery(new URL(server), clientId, undefined, auth, {
    execute: [openid.allowInsecureRequests],
  });
  const pkceCodeVerifier = openid.randomPKCECodeVerifier();
  const json = {
    ...{ response_type: 'code', client_id: clientId, redirect_uri: redirectUri, scope: 'profile' },
    code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
  };
  const { body } = await request(service.url, 'POST', '/authorize/approve', { json, token });
  const tokens = await openid.authorizationCodeGrant(config, new URL(body.redirect), { pkceCodeVerifier });
  const file = join(temporaryDirectory(), 'tokens.json');
  writeFileSync(file, JSON.stringify({ ...tokens, issuer: `${server}/` }));
  return { file, token };
}

const all = (workers: readonly Worker[], step: 'read' | 'refresh' | 'store') =>
  Promise.all(workers.map((worker) => worker.ask(step)));

test.each(['openid-client', 'oauth4webapi', 'the MCP SDK'] as const)(
  'twenty processes of %s share a login through a thousand refreshes, with lost responses and kills',
  async (name) => {
    const { auth: _, ...identity } = clients[name];
    const { file, token } = await signIn(`${name.replaceAll(' ', '-')}@example.com`, clients[name]);
    const start = async (): Promise<Worker> => {
      const args = [name, JSON.stringify(identity), file];
      const worker = startWorker([process.execPath], 'oauth-client-worker.ts', ...args);
      expect(await worker.hear()).toBe('ready');
      return worker;
    };
    const workers = await Promise.all(Array.from({ length: sharers }, start));
    const loseTo = async (some: readonly Worker[]) => {
      proxy.disturb('lose responses');
      expect(await all(some, 'refresh')).toEqual(some.map(() => ({ lost: expect.any(String) })));
      proxy.disturb(undefined);
    };

    /** Returns the successor that each of them got. */
    const refreshAll = async (trouble: (typeof troubles)[number]): Promise<string[]> => {
      expect(new Set(await all(workers, 'read')).size).toBe(1);
      const victim = workers[0]!;
      if (trouble === 'every response is lost') await loseTo(workers);
      if (trouble === 'every second response is lost') await loseTo(workers.filter((_, index) => index % 2));
      if (trouble === 'one is killed, and its response was lost') await loseTo([victim]);
      const isStored = trouble !== 'one is killed before it has stored its tokens';
      const unstored = isStored ? [] : [await victim.ask('refresh')];
      if (trouble.startsWith('one is killed')) {
        victim.signal('SIGKILL');
        expect(await victim.exited).toBe(137);
        workers.shift();
      }
      const successors = [...unstored, ...(await all(workers, 'refresh'))];
      expect(await all(workers, 'store')).toEqual(workers.map(() => 'stored'));
      if (workers.length < sharers) workers.push(await start());
      return successors;
    };

    let [rounds, succeeded] = [0, 0];
    const { rotated, retry, ...others } = await refreshesDuring(service.url, async () => {
      while (succeeded < refreshes) {
        const trouble = troubles[rounds++ % troubles.length]!;
        const successors = await refreshAll(trouble);
        const [successor] = successors;
        const expected = expect.stringMatching(/^lk_rt_/);
        expect([trouble, successor]).toEqual([trouble, expected]);
        expect([trouble, successors]).toEqual([trouble, successors.map(() => successor!)]);
        succeeded += successors.length;
      }
    });
    expect([rotated, others]).toEqual([rounds, {}]);
    expect(retry).toBeGreaterThanOrEqual(succeeded - rounds);
    const { body } = await request(service.url, 'GET', '/sessions', { token });
    const ids = body.sessions.map(({ client_id }: { client_id: string | null }) => client_id);
    expect(ids).toContain(identity.clientId);
    expect(await Promise.all(workers.map((worker) => worker.finish()))).toEqual(workers.map(() => ''));
  },
);
