// Relying parties that others wrote, unchanged: each has nothing but the address of the service and a key of its own.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { JSONWebKeySet } from 'jose';
import { sameOrigin } from '#support/account.ts';
import { allBlocks, codeBlocks, exampleText, openTerminal, readerOf, startBlock } from '#support/guides.ts';
import { reservePort } from '#support/reserved-port.ts';
import { runOperator, startService } from '#support/service.ts';
import { shared } from '#support/shared.ts';
import { until } from '#support/until.ts';
import { kinds, type RelyingParty, startParty } from './parties.ts';
import { newVisitor, type Visitor } from './visitor.ts';

const email = 'ada@example.com';
/** Those that are installed, by name. */
const parties = new Map<string, RelyingParty>();
const service = shared(() => startService());
let token: string;
let userId: string;

beforeAll(async () => {
  token = (await service.login(email)).access_token;
  userId = (await service.ask('GET', '/me', { token })).body.id;
  for (const kind of kinds.filter(({ isMissing }) => !isMissing))
    parties.set(kind.name, await startParty(service, kind));
});
afterAll(async () => {
  await Promise.all([...parties.values()].map((party) => party.stop()));
});

/** Decides as the page does, and returns where the browser goes then. */
async function decide(url: URL, decision: 'approve' | 'deny'): Promise<string> {
  const parameters = Object.fromEntries(url.searchParams);
  const verified = await service.ask('POST', '/authorize/verify', { json: parameters, token });
  expect([url.pathname, verified.status, verified.body.approval]).toEqual(['/authorize', 200, 'needed']);
  const json = { ...parameters, scope: verified.body.scope };
  const { body } = await service.ask('POST', `/authorize/${decision}`, { json, token });
  return body.redirect;
}

/** Starts a sign-in, and returns what the application makes of the response. */
async function respond(
  party: RelyingParty,
  decision: 'approve' | 'deny',
  change = (_: URLSearchParams) => {},
) {
  const { url, visitor } = await party.start();
  change(url.searchParams);
  const { status, url: end, text } = await visitor.visit(await decide(url, decision));
  return { visitor, result: `${status} ${end} ${text}` };
}

const signIn = async (party: RelyingParty) => (await respond(party, 'approve')).visitor;

async function isSignedIn(party: RelyingParty, visitor: Visitor): Promise<boolean> {
  const { text } = await party.home(visitor);
  return text.includes(userId) || text.includes(email);
}

for (const kind of kinds) {
  const skipped = kind.isMissing ? ': skipped, because it is not installed' : '';
  describe.skipIf(kind.isMissing ?? false)(`${kind.name}${skipped}`, () => {
    let party: RelyingParty;
    beforeAll(() => {
      party = parties.get(kind.name)!;
    });

    test('signs nobody in who refuses', async () => {
      const { visitor, result } = await respond(party, 'deny');
      expect(result).toContain(kind.refused);
      expect(await isSignedIn(party, visitor)).toBe(false);
    });

    test('refuses the identity token of another request', async () => {
      const { visitor, result } = await respond(party, 'approve', (parameters) => {
        expect(parameters.get('nonce')).toBeString();
        parameters.set('nonce', 'of another request');
      });
      expect(result).toContain(kind.wrongNonce);
      expect(await isSignedIn(party, visitor)).toBe(false);
    });

    test('signs people in, and notices that their session ended', async () => {
      const visitor = await signIn(party);
      expect(await isSignedIn(party, visitor)).toBe(true);
      const { body } = await service.ask('GET', '/sessions', { token });
      const listed: { id: string; client_id: string | null }[] = body.sessions;
      for (const { id } of listed.filter(({ client_id }) => client_id === party.clientId))
        await service.ask('DELETE', `/sessions/${id}`, { token });
      expect(await isSignedIn(party, visitor)).toBe(false);
    });

    const { logout = '' } = kind;
    if (logout === '') return;
    test('sends people here to sign out, and gets them back', async () => {
      const visitor = await signIn(party);
      const back = `${party.address}/`;
      const { url } = await visitor.visit(party.address + logout + (logout.endsWith('=') ? back : ''));
      const { pathname, searchParams } = new URL(url);
      expect([pathname, searchParams.has('id_token_hint')]).toEqual(['/api/v1/auth/end_session', true]);
      const json = Object.fromEntries(searchParams);
      const { body } = await service.ask('POST', '/end_session/confirm', {
        json,
        headers: sameOrigin,
      });
      expect(body).toEqual({ redirect: back });
      expect(await isSignedIn(party, visitor)).toBe(false);
    });
  });
}

test('the guide registers an application and starts it, and shows parts of the examples', async () => {
  const guide = 'docs/openid.md';
  const examples = (await exampleText('openid-client.ts')) + (await exampleText('auth-js.ts'));
  for (const block of await codeBlocks(guide, 'ts')) expect(examples).toContain(block);
  const [register, start] = await allBlocks(guide, 'sh', 2);
  const reader = readerOf(service);
  const terminal = openTerminal(reader, {});
  await terminal.run(register);
  const home = `http://127.0.0.1:${reservePort()}/`;
  const isReady = () => fetch(home, { redirect: 'manual' }).then(({ status }) => status === 302);
  await startBlock(reader, start, { PORT: new URL(home).port }, isReady);
  const visitor = newVisitor(service.url);
  const { url } = await visitor.visit(home);
  expect((await visitor.visit(await decide(new URL(url), 'approve'))).text).toContain(userId);
});

// Waits until each library reads the keys again.
test('after the signing keys were rotated at once, no old one is published, and all of them sign people in', async () => {
  const published = async (): Promise<string[]> => {
    const { keys } = (await (await fetch(`${service.url}/.well-known/jwks.json`)).json()) as JSONWebKeySet;
    return keys.map(({ kid = '' }) => kid);
  };
  const before = await published();
  const { code, stderr } = await runOperator(service.env, 'keys', 'rotate-signing', '--at-once');
  expect([code, stderr]).toEqual([0, expect.stringMatching(/^Waiting 18 s until all nodes/m)]);
  expect((await published()).filter((kid) => before.includes(kid))).toEqual([]);
  for (const party of parties.values()) {
    // openid-client reads the keys again only if it read them more than a minute ago.
    await party.pass(61);
    await until(async () => isSignedIn(party, await signIn(party)), 'a sign-in');
  }
});
