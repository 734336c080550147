import { afterEach, expect, test } from 'bun:test';
import { onBothDatabases } from '../../../tests/support/app.ts';
import { codeOf, fetchOf } from '../../../tests/support/client.ts';
import { createVerifier, type VerifierOptions } from './verify.ts';

/** A real server that answers introspection as RFC 7662 says, for tokens that a test names. */
function introspection() {
  const active = new Map<string, { sub: string; exp: number }>();
  const asked: string[] = [];
  let fails = 0;
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      const token = new URLSearchParams(await request.text()).get('token') ?? '';
      asked.push(token);
      const headers = { 'X-Request-Id': 'r' };
      const refuse = (error: string, status: number) =>
        Response.json({ error, error_description: '.', request_id: 'r' }, { status, headers });
      if (request.headers.get('Authorization') !== `Basic ${btoa('svc_a:secret')}`)
        return refuse('invalid_client', 401);
      if (fails-- > 0) return refuse('temporarily_unavailable', 503);
      await Bun.sleep(5);
      const found = active.get(token);
      return Response.json(
        found ? { active: true, token_type: 'Bearer', sid: 'ses_a', iat: 0, ...found } : { active: false },
        { headers },
      );
    },
  });
  servers.push(server);
  return {
    active,
    asked,
    server: server.url.origin,
    failNext: (times: number) => {
      fails = times;
    },
  };
}

const servers: { stop(force: boolean): void }[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.stop(true);
});

function verifierOf(server: string, options: Partial<VerifierOptions> = {}) {
  let now = 1_000_000_000_000;
  const clock = { now: () => now, sleep: async () => {} };
  const verifier = createVerifier({ server, serviceKey: 'svc_a:secret', clock, ...options });
  return {
    ...verifier,
    pass: (seconds: number) => {
      now += seconds * 1000;
    },
    exp: (seconds: number) => now / 1000 + seconds,
  };
}

test('a good token is whose it is, and the answer is kept for 5 s and no longer than the token lives', async () => {
  const { active, asked, server } = introspection();
  const verifier = verifierOf(server);
  active.set('lk_at_long', { sub: 'usr_a', exp: verifier.exp(600) });
  active.set('lk_at_short', { sub: 'usr_a', exp: verifier.exp(2) });
  expect(await verifier.verify('lk_at_long')).toMatchObject({ active: true, sub: 'usr_a', sid: 'ses_a' });
  await verifier.verify('lk_at_short');
  verifier.pass(1.9);
  await verifier.verify('lk_at_short');
  await verifier.verify('lk_at_long');
  expect(asked).toEqual(['lk_at_long', 'lk_at_short']);
  active.clear();
  verifier.pass(0.2);
  expect(await verifier.verify('lk_at_short')).toEqual({ active: false });
  expect(await verifier.verify('lk_at_long')).toMatchObject({ active: true });
  verifier.pass(3);
  expect(await verifier.verify('lk_at_long')).toEqual({ active: false });
});

test('who asks for one token at once shares one question, and may leave it', async () => {
  const { active, asked, server } = introspection();
  const verifier = verifierOf(server, { cacheSeconds: 0 });
  active.set('lk_at_a', { sub: 'usr_a', exp: verifier.exp(600) });
  const leaver = new AbortController();
  const left = codeOf(verifier.verify('lk_at_a', { signal: leaver.signal }));
  const stayed = Array.from({ length: 20 }, () => verifier.verify('lk_at_a'));
  leaver.abort();
  expect(await left).toBe('aborted');
  for (const answer of await Promise.all(stayed)) expect(answer.active).toBe(true);
  expect(asked).toHaveLength(1);
  await verifier.verify('lk_at_a');
  expect(asked).toHaveLength(2);
});

test('a failure lets nobody in and is not kept; a wrong service key is said so', async () => {
  const { active, server, failNext } = introspection();
  const verifier = verifierOf(server);
  active.set('lk_at_a', { sub: 'usr_a', exp: verifier.exp(600) });
  failNext(1);
  expect(await codeOf(verifier.verify('lk_at_a'))).toBe('temporarily_unavailable');
  expect((await verifier.verify('lk_at_a')).active).toBe(true);
  const stranger = verifierOf(server, { serviceKey: 'svc_a:wrong' });
  expect(await codeOf(stranger.verify('lk_at_a'))).toBe('invalid_client');
  const lost = verifierOf('http://127.0.0.1:1');
  expect(await codeOf(lost.verify('lk_at_a'))).toBe('unreachable');
});

test('an answer that says less than who is no answer', async () => {
  for (const body of [
    {},
    [],
    { active: 'true' },
    { active: true },
    { active: true, sub: 'u', exp: 'soon', sid: 's' },
  ]) {
    const fetch = async () => Response.json(body, { headers: { 'X-Request-Id': 'r' } });
    expect(await codeOf(verifierOf('https://login.example', { fetch }).verify('lk_at_a'))).toBe(
      'not_latchkey',
    );
  }
});

test('what is no access token is refused without asking anybody', async () => {
  const { asked, server } = introspection();
  const { verify } = verifierOf(server);
  for (const token of ['', 'ghp_secret', 'lk_rt_a', 'lk_at_', 'lk_at_a b', `lk_at_${'a'.repeat(2000)}`])
    expect(await verify(token)).toEqual({ active: false });
  expect(asked).toEqual([]);
});

test('no more answers are kept than allowed, and the one used last stays longest', async () => {
  const { asked, server } = introspection();
  const { verify } = verifierOf(server, { maxEntries: 2 });
  for (const token of ['lk_at_a', 'lk_at_b', 'lk_at_a', 'lk_at_c', 'lk_at_a', 'lk_at_b']) await verify(token);
  expect(asked).toEqual(['lk_at_a', 'lk_at_b', 'lk_at_c', 'lk_at_b']);
});

test('a clock that was set back keeps no answer longer', async () => {
  const { active, asked, server } = introspection();
  const verifier = verifierOf(server);
  active.set('lk_at_a', { sub: 'usr_a', exp: verifier.exp(600) });
  await verifier.verify('lk_at_a');
  verifier.pass(-3600);
  await verifier.verify('lk_at_a');
  expect(asked).toHaveLength(2);
});

test('a cache longer than a minute and a key without a secret are refused at the start', () => {
  const options = { server: 'https://login.example', serviceKey: 'svc_a:secret' };
  expect(() => createVerifier({ ...options, cacheSeconds: 61 })).toThrow('0-60');
  expect(() => createVerifier({ ...options, serviceKey: 'svc_a' })).toThrow('id:secret');
});

onBothDatabases('the service itself', (open) => {
  test('says whose a token is, and from the moment of a revocation that it is nobody’s', async () => {
    const app = await open();
    const { access_token: token, refresh_token } = await app.login();
    const { body: me } = await app.ask('GET', '/me', { token });
    const basic = (await app.serviceAuthorization()).slice('Basic '.length);
    const verifier = createVerifier({
      server: app.ctx.config.baseUrl,
      serviceKey: atob(basic),
      cacheSeconds: 0,
      fetch: fetchOf(app),
    });
    expect(await verifier.verify(token)).toMatchObject({ active: true, sub: me.id });
    expect(await verifier.verify(refresh_token)).toEqual({ active: false });
    await app.ask('POST', '/revoke', { token });
    expect(await verifier.verify(token)).toEqual({ active: false });
    await app.close();
  });
});
