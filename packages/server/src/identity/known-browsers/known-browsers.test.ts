// A browser that has signed in with an address can request sign-in mails to it, whatever strangers do.

import { expect, test } from 'bun:test';
import { cookiesIn, disown, newPeer, outcome, sameOrigin, subjects } from '#support/account.ts';
import { linkFor } from '#support/account-scene.ts';
import { type Ask, onBothDatabases, openApp, type TestApp } from '#support/app.ts';
import { fresh } from '#support/shared.ts';
import { generateKey, parseKeyRing } from '../../platform/crypto/primitives.ts';
import { emailKeyOf } from '../../platform/values/email-key.ts';
import { rateLimitRules } from '../../settings.ts';
import { deleteAccount } from '../../whole-account/personal-data.ts';
import { maxKnownAddresses, recognizeBrowser } from './known-browsers.ts';

const ada = 'ada@example.com';
const day = 86_400;
const settings = { LATCHKEY_RATE_LIMITS: 'on' };
/** Sessions are deleted before the browsers that they make known are forgotten. */
const shortSessions = {
  ...settings,
  LATCHKEY_SESSION_TTL: `${30 * 86_400}`,
  LATCHKEY_REFRESH_IDLE_TTL: `${30 * 86_400}`,
};
const { quota, windowSeconds } = rateLimitRules.mails_by_known_browser;

const magicLink = (app: TestApp, email: string, ask: Ask = {}) =>
  app.ask('POST', '/magic_link', { peer: newPeer(), ...ask, json: { email } });

/** Signs in by mail as a web page does; returns the known-browser cookie, `name=value`. */
async function signIn(app: TestApp, email = ada, ask: Ask = {}): Promise<string> {
  const { token } = await linkFor(app, email, { peer: newPeer(), ...ask });
  const sent = { headers: sameOrigin, ...ask, json: { token } };
  const answer = await app.ask('POST', '/magic_link/verify?session=cookie', sent);
  return cookiesIn(answer).find((cookie) => cookie.startsWith('latchkey_browser='))!;
}

/** The outcomes of so many requests of mails by one browser. */
const statuses = async (app: TestApp, count: number, ask: Ask): Promise<number[]> => {
  const found: number[] = [];
  for (let n = 0; n < count; n++) found.push((await magicLink(app, ada, ask)).status);
  return found;
};
const accepted = (count: number): number[] => Array(count).fill(202);

/** Requests mails from other addresses until the recipient's rate limit is reached. */
async function exhaust(app: TestApp): Promise<void> {
  for (let n = 0; (await magicLink(app, ada)).status !== 429; n++)
    expect(n).toBeLessThanOrEqual(rateLimitRules.mails_by_recipient.quota);
}

/** Whether a browser with this cookie has signed in with an address. */
const isKnown = async ({ ctx }: TestApp, cookie: string, email = ada): Promise<boolean> =>
  (await recognizeBrowser(ctx, cookie.split('=')[1], emailKeyOf(email))) !== undefined;

const sessionsOf = (app: TestApp) => app.ctx.db.read.run('SELECT id FROM sessions', []);

onBothDatabases('a known browser', (open) => {
  const app = fresh(() => open({ settings }));

  test('each known browser gets 5 mails in 15 minutes, and all of an address 20 per hour, after strangers have used up the 20 per hour of its address; another sign-in does not reset that, and it counts against none of the three other limits', async () => {
    const browsers = [await signIn(app), await signIn(app), await signIn(app), await signIn(app)];
    const [first = '', second = '', third = '', fourth = ''] = browsers;
    await exhaust(app);
    expect(await statuses(app, quota - 1, { cookie: first })).toEqual(accepted(quota - 1));
    const cookie = await signIn(app, ada, { cookie: first });
    const refused = await magicLink(app, ada, { cookie });
    expect(outcome(refused)).toBe('429 rate_limited');
    expect(Number(refused.headers.get('Retry-After'))).toBeWithin(windowSeconds - 60, windowSeconds + 1);
    expect(await statuses(app, quota + 1, { cookie: second })).toEqual([...accepted(quota), 429]);
    app.pass(windowSeconds - 60);
    expect((await magicLink(app, ada, { cookie })).status).toBe(429);
    app.pass(61);
    expect((await magicLink(app, ada, { cookie })).status).toBe(202);
    expect(await statuses(app, quota, { cookie: third })).toEqual(accepted(quota));
    expect(await statuses(app, quota, { cookie: fourth })).toEqual([...accepted(quota - 1), 429]);
    const { headers } = await magicLink(app, ada, { cookie: fourth });
    expect(headers.get('RateLimit-Policy')).toBe('"mails_by_recipient";q=20;w=3600');
    app.pass(3601);
    const peer = newPeer();
    expect(await statuses(app, quota, { cookie, peer })).toEqual(accepted(quota));
    const { quota: others } = rateLimitRules.mails_by_pair;
    expect(await statuses(app, others + 1, { peer })).toEqual([...accepted(others), 429]);
  });

  test.each([undefined, 'disowned', 'stolen'])(
    'a browser stays known for 180 days, after signing out and after its session is swept, but not by one that is %s',
    async (distrusted) => {
      const app = await open({ settings: shortSessions });
      const cookie = await signIn(app);
      const { access_token: token } = await app.login(ada);
      expect((await app.ask('POST', '/revoke', { token })).status).toBe(204);
      if (distrusted) await app.ctx.db.single.run(`UPDATE sessions SET distrusted_as = '${distrusted}'`, []);
      for (const [passed, sessions] of [
        [0, 2],
        [179, distrusted ? 2 : 0],
        [1.01, distrusted ? 2 : 0],
        [2, 0],
      ] as const) {
        app.pass(passed * day);
        await app.sweep();
        expect(await sessionsOf(app)).toHaveLength(sessions);
        expect([passed, await isKnown(app, cookie)]).toEqual([
          passed,
          !distrusted && [0, 179].includes(passed),
        ]);
      }
    },
  );

  test('a browser is not known once the owner disowns its session, or its account is deleted', async () => {
    const mine = await signIn(app);
    const headers = { ...sameOrigin, 'User-Agent': 'Another/1.0' };
    const stranger = await signIn(app, ada, { peer: newPeer(), headers });
    expect((await disown(app, ada, subjects.newBrowser)).status).toBe(200);
    expect(await isKnown(app, stranger)).toBe(false);
    expect(await isKnown(app, mine)).toBe(true);
    // The address gets a new account.
    await deleteAccount(app.ctx, ada);
    await signIn(app);
    expect(await isKnown(app, mine)).toBe(false);
  });

  test('a known browser gets the same responses as any other, for known and unknown addresses', async () => {
    const cookie = await signIn(app);
    await app.login('bob@example.com');
    app.pass(3601);
    const answers = async (email: string, ask: Ask) => {
      const peer = newPeer();
      const seen: unknown[] = [];
      for (let n = 0; n < quota + 2; n++) {
        const { status, headers, body } = await magicLink(app, email, { ...ask, peer });
        headers.delete('X-Request-Id');
        for (const name of ['RateLimit', 'Retry-After'])
          headers.set(name, headers.get(name)?.replace(/\d+$/, 'N') ?? 'none');
        seen.push([status, { ...body, request: 0, request_id: 0 }, [...headers]]);
      }
      return seen;
    };
    const known = await answers(ada, { cookie });
    for (const email of ['bob@example.com', 'nobody@example.com'])
      for (const ask of [{}, { cookie }]) expect(await answers(email, ask)).toEqual(known);
    const unknown = await app.ask('POST', '/magic_link', { json: { email: 'new@example.com' }, cookie });
    expect(cookiesIn(unknown)).toEqual([]);
  });
});

test('a browser is known only for the addresses that it signed in with, the last 5, in any letter case; its cookie does not reveal how many', async () => {
  const app = await openApp('sqlite', { settings });
  const email = (n: number) => `person${n}@example.com`;
  expect(maxKnownAddresses).toBe(5);
  const cookies = [await signIn(app, email(0))];
  for (let n = 0; n <= maxKnownAddresses; n++)
    cookies.push(await signIn(app, email(n), { cookie: cookies.at(-1)! }));
  const cookie = cookies.at(-1)!;
  for (const other of [email(0), ada]) expect(await isKnown(app, cookie, other)).toBe(false);
  for (let n = 1; n <= maxKnownAddresses; n++)
    expect(await isKnown(app, cookie, email(n).toUpperCase().replace('EXAMPLE', 'Example'))).toBe(true);
  expect(new Set(cookies).size).toBe(maxKnownAddresses + 2);
  expect(new Set(cookies.map(({ length }) => length)).size).toBe(1);
});

test('a known-browser cookie is valid while its key is in the ring; a modified or repeated one is ignored', async () => {
  const app = await openApp('sqlite', { settings });
  const cookie = await signIn(app);
  const under = (keys: string) => isKnown({ ...app, ctx: { ...app.ctx, keys: parseKeyRing(keys) } }, cookie);
  const newer = generateKey();
  expect([await under(`${newer},${app.keys}`), await under(newer)]).toEqual([true, false]);
  const [name, value = ''] = cookie.split('=');
  const cut = value.slice(0, -4);
  for (const broken of ['', 'x', value.slice(1), cut, `${value}AAAA`, `${cut}AAAA`])
    expect([broken, await isKnown(app, `${name}=${broken}`)]).toEqual([broken, false]);
  await exhaust(app);
  expect((await magicLink(app, ada, { cookie: `${cookie}; ${cookie}` })).status).toBe(429);
});

test('a page of another origin cannot use up the rate limit of a known browser', async () => {
  const app = await openApp('sqlite', { settings });
  const cookie = await signIn(app);
  await exhaust(app);
  // Which pages are: platform/http/origin.test.ts.
  const foreign = { Origin: 'https://evil.example' };
  expect((await magicLink(app, ada, { cookie, headers: foreign })).status).toBe(429);
  expect((await magicLink(app, ada, { cookie, headers: sameOrigin })).status).toBe(202);
});
