// What two sign-ins of a thief and the owner do to one account, in every order, against a model of what must work afterwards.

import { expect, test } from 'bun:test';
import { addPasskey, isLive, newAuthenticator, outcome } from '../../../../../tests/support/account.ts';
import { onBothDatabases, type TestApp, type Tokens } from '../../../../../tests/support/app.ts';
import type { Authenticator } from '../../../../../tests/support/authenticator.ts';
import fc from '../../../../../tests/support/fc.ts';
import { createdKey } from '../../../../../tests/support/keys.ts';
import { isLong } from '../../../../../tests/support/long.ts';
import { type HandleKind, mintHandle, readHandle } from '../../platform/crypto/handle.ts';
import { sessionIdOf } from '../../sessions/tokens.ts';

const thieves = ['first', 'second'] as const;
const actors = [...thieves, 'owner'] as const;
type Actor = (typeof actors)[number];

/**
 * `moves` changes the address, and signs in by email to the new one from a place of its own. `adds` adds a passkey, signs in with it from a place of its own, makes a key and signs a device
 * in. `disowns` uses the notice about a sign-in of the thief, or about the sign-in with the passkey that it added.
 */
type Step = `${Actor} ${'moves' | 'adds'}` | `disowns ${(typeof thieves)[number]}${'' | ' passkey'}`;

const steps: readonly Step[] = [
  ...actors.flatMap((actor) => [`${actor} moves`, `${actor} adds`] as const),
  ...thieves.flatMap((thief) => [`disowns ${thief}`, `disowns ${thief} passkey`] as const),
];

/** Every order of up to `length` different steps that ends with a disowning; the thief's two sign-ins are alike. */
function ordersOf(length: number, before: readonly Step[] = []): Step[][] {
  const last = before.at(-1);
  const here = last?.startsWith('disowns first') ? [[...before]] : [];
  if (length === 0) return here;
  const next = steps.filter((step) => {
    const [, thief, passkey] = step.split(' ');
    return !before.includes(step) && (passkey === undefined || before.includes(`${thief as Actor} adds`));
  });
  return [...here, ...next.flatMap((step) => ordersOf(length - 1, [...before, step]))];
}

interface Login {
  readonly kind: 'browser' | 'device' | 'key';
  /** The login that it came from. */
  readonly from: Login | undefined;
  readonly passkey: Passkey | undefined;
  readonly tokens: Tokens;
  noticeTo: string;
  isDisowned: boolean;
  hasEnded: boolean;
}

interface Passkey {
  readonly name: string;
  readonly by: Login;
  readonly authenticator: Authenticator;
  /** The number of changes of address before it. */
  readonly changesBefore: number;
  isRemoved: boolean;
}

interface Change {
  readonly by: Login;
  readonly from: string;
  readonly to: string;
}

/** What must be true of an account. */
class Model {
  readonly logins: Login[] = [];
  readonly passkeys: Passkey[] = [];
  readonly changes: Change[] = [];
  readonly addresses = new Set<string>();
  address: string;

  constructor(address: string) {
    this.address = address;
    this.addresses.add(address);
  }

  startLogin(kind: Login['kind'], tokens: Tokens, from?: Login, passkey?: Passkey): Login {
    const state = { noticeTo: this.address, isDisowned: false, hasEnded: false };
    const login = { kind, from, passkey, tokens, ...state };
    this.logins.push(login);
    return login;
  }

  move(by: Login, to: string): void {
    this.changes.push({ by, from: this.address, to });
    this.addresses.add(to);
    this.address = to;
  }

  /** The response to "This wasn't me" about a login, apart from the names of devices. */
  disown(root: Login) {
    const cameFrom = (login: Login | undefined): boolean =>
      login !== undefined && (login === root || cameFrom(login.from));
    const disowned = this.logins.filter(cameFrom);
    const first = this.changes.findIndex(({ by }) => disowned.includes(by));
    const isPutBack = first >= 0;
    const used = disowned.flatMap(({ passkey }) => passkey ?? []);
    const removed = this.passkeys.filter(
      (passkey) =>
        disowned.includes(passkey.by) ||
        used.includes(passkey) ||
        (isPutBack && passkey.changesBefore > first),
    );
    const ended = this.logins.filter(
      (login) =>
        !login.hasEnded &&
        (disowned.includes(login) || isPutBack || (login.passkey && removed.includes(login.passkey))),
    );
    if (isPutBack) {
      const undone = this.changes.splice(first);
      this.address = undone[0]!.from;
      const left = undone.map(({ to }) => to);
      for (const login of this.logins) if (left.includes(login.noticeTo)) login.noticeTo = this.address;
    }
    const names = removed.filter(({ isRemoved }) => !isRemoved).map(({ name }) => name);
    for (const login of ended) login.hasEnded = true;
    for (const passkey of removed) passkey.isRemoved = true;
    const count = (kind: Login['kind']) => ended.filter((login) => login.kind === kind).length;
    return {
      email: isPutBack ? this.address : null,
      sessions_ended: count('browser'),
      devices_ended: count('device'),
      keys_removed: Array.from({ length: count('key') }, () => 'build'),
      passkeys_removed: names.toSorted(),
    };
  }
}

/** Reads the newest row with a link that is sent by mail, and makes its token. */
async function linkFrom(app: TestApp, kind: HandleKind, rows: string): Promise<string> {
  const query = `SELECT id, expires_at FROM ${rows} ORDER BY created_at DESC LIMIT 1`;
  const [row] = await app.ctx.db.read.run<{ id: string; expires_at: number }>(query, []);
  const subject = Buffer.from(row!.id, 'base64url');
  return mintHandle(app.ctx.keys, kind, { subject, value: Number(row!.expires_at) });
}

const idOf = (app: TestApp, { access_token }: Tokens): string =>
  sessionIdOf(readHandle(app.ctx.keys, 'accessToken', access_token)!.subject);

const placeOf = (name: string, network: number) => ({
  peer: `198.18.${network}.1`,
  headers: { 'User-Agent': `${name}/1.0` },
});

async function signIn(app: TestApp, email: string, place = placeOf('home', 0)) {
  await app.ask('POST', '/magic_link', { json: { email } });
  const token = await linkFrom(app, 'magicLink', `magic_links WHERE email = '${email}' AND spent_at IS NULL`);
  return app.ask('POST', '/magic_link/verify', { json: { token }, ...place });
}

async function signInWithPasskey(app: TestApp, authenticator: Authenticator, place = placeOf('door', 9)) {
  const { body } = await app.ask('POST', '/passkey/login/challenge');
  return app.ask('POST', '/passkey/login', { json: authenticator.get(body), ...place });
}

const accountOf = async (app: TestApp, token: string): Promise<string | undefined> =>
  (await app.ask('GET', '/me', { token })).body.id;

class Walk {
  readonly app: TestApp;
  readonly name: string;
  readonly id: string;
  readonly model: Model;
  readonly roots: Readonly<Record<Actor, Login>>;

  private constructor(app: TestApp, name: string, id: string, logins: Readonly<Record<Actor, Tokens>>) {
    this.app = app;
    this.name = name;
    this.id = id;
    this.model = new Model(`${name}@example.com`);
    const root = (actor: Actor) => this.model.startLogin('browser', logins[actor]);
    this.roots = { owner: root('owner'), first: root('first'), second: root('second') };
  }

  static async through(app: TestApp, name: string, order: readonly Step[]): Promise<void> {
    const walk = await Walk.begin(app, name);
    try {
      for (const step of order) await walk.take(step);
      await walk.tryDoors();
    } catch (error) {
      throw new Error(`after: ${order.join(', ')}`, { cause: error });
    }
  }

  private static async begin(app: TestApp, name: string): Promise<Walk> {
    const address = `${name}@example.com`;
    const start = async (place?: ReturnType<typeof placeOf>) => {
      const answer = await signIn(app, address, place);
      expect(outcome(answer)).toBe('200');
      return answer.body;
    };
    const owner = await start();
    const first = await start(placeOf('first', 1));
    const second = await start(placeOf('second', 2));
    const id = (await accountOf(app, owner.access_token))!;
    const walk = new Walk(app, name, id, { owner, first, second });
    await walk.adds('owner', 'from before');
    return walk;
  }

  async take(step: Step): Promise<void> {
    const [who, what, passkey] = step.split(' ') as [string, string, string | undefined];
    if (who !== 'disowns') await (what === 'moves' ? this.moves(who as Actor) : this.adds(who as Actor));
    else if (passkey === undefined) await this.disowns(this.roots[what as Actor]);
    else await this.disowns(this.model.logins.find((login) => login.passkey?.name === what));
  }

  async moves(actor: Actor): Promise<void> {
    const { app, model } = this;
    const login = this.roots[actor];
    const token = login.tokens.access_token;
    const email = `${this.name}.${actor}@moved.example`;
    const asked = await app.ask('POST', '/me/email', { token, json: { email } });
    expect(outcome(asked)).toBe(login.hasEnded ? '401 invalid_token' : '202');
    if (login.hasEnded) return;
    const link = await linkFrom(app, 'emailChange', `email_changes WHERE new_email = '${email}'`);
    expect(outcome(await app.ask('POST', '/me/email/verify', { token, json: { token: link } }))).toBe('200');
    model.move(login, email);
    const { body } = await signIn(app, email, placeOf(`${actor} email`, 5 + actors.indexOf(actor)));
    model.startLogin('browser', body, login);
  }

  async adds(actor: Actor, name: string = actor): Promise<void> {
    const { app, model } = this;
    const by = this.roots[actor];
    if (by.hasEnded) {
      const answer = await app.ask('POST', '/passkey/register/challenge', { token: by.tokens.access_token });
      expect(outcome(answer)).toBe('401 invalid_token');
      return;
    }
    const authenticator = newAuthenticator(app);
    expect(outcome(await addPasskey(app, by.tokens, authenticator, name))).toBe('201');
    const passkey = { name, by, authenticator, changesBefore: model.changes.length, isRemoved: false };
    model.passkeys.push(passkey);
    const place =
      actor === 'owner' ? placeOf('home', 0) : placeOf(`${actor} passkey`, actor === 'first' ? 3 : 4);
    const { body } = await signInWithPasskey(app, authenticator, place);
    model.startLogin('browser', body, by, passkey);
    const { key } = await createdKey(app, by.tokens);
    model.startLogin('key', { ...by.tokens, access_token: key }, by);
    model.startLogin('device', await app.deviceLogin(by.tokens), by);
  }

  async disowns(login: Login | undefined): Promise<void> {
    // The sign-in with a passkey, if that was never added because its login had ended.
    if (login === undefined) return;
    const { app, model } = this;
    const notice = `notices WHERE session_id = '${idOf(app, login.tokens)}' AND kind = 'new_browser'`;
    const notices = await app.ctx.db.read.run(`SELECT email_key FROM ${notice}`, []);
    expect(notices).toEqual([{ email_key: login.noticeTo }]);
    const token = await linkFrom(app, 'notice', notice);
    const { status, body } = await app.ask('POST', '/notices/disown', { json: { token } });
    const answer = { ...body, passkeys_removed: body.passkeys_removed.toSorted() };
    expect([status, answer]).toMatchObject([200, model.disown(login)]);
  }

  /** Tries everything that ever let anyone in. */
  async tryDoors(): Promise<void> {
    const { app, model } = this;
    for (const { kind, tokens, hasEnded } of model.logins) {
      expect(await isLive(app, tokens)).toBe(!hasEnded);
      if (kind === 'key') continue;
      const { refresh_token } = tokens;
      const refreshed = await app.ask('POST', '/refresh', { json: { refresh_token } });
      expect(outcome(refreshed)).toBe(hasEnded ? '400 invalid_grant' : '200');
    }
    for (const { authenticator, isRemoved } of model.passkeys) {
      const answer = await signInWithPasskey(app, authenticator);
      expect(outcome(answer)).toBe(isRemoved ? '400 unknown_credential' : '200');
    }
    for (const address of model.addresses) {
      const { body } = await signIn(app, address);
      const account = body.access_token && (await accountOf(app, body.access_token));
      expect(account === this.id).toBe(address === model.address);
    }
  }
}

/** How many accounts are walked through at the same time. */
const parallelWalks = 8;

const longWalks = isLong ? 100 : 10;
const allOrdersOf = isLong ? 3 : 2;

onBothDatabases('whatever two sign-ins of a thief and the owner do', (open) => {
  test(`after disowning, in every order of up to ${allOrdersOf} steps, only what was not disowned lets anyone in`, async () => {
    const app = await open();
    const orders = ordersOf(allOrdersOf).entries();
    const walkOrders = async () => {
      for (const [index, order] of orders) await Walk.through(app, `ada${index}`, order);
    };
    await Promise.all(Array.from({ length: parallelWalks }, walkOrders));
    await app.close();
  }, 300_000);

  test('after disowning, in long orders, only what was not disowned lets anyone in', async () => {
    const app = await open();
    let walks = 0;
    const order = fc.shuffledSubarray([...steps], { minLength: 5 });
    const property = fc.asyncProperty(order, (taken) => Walk.through(app, `ada${walks++}`, taken));
    await fc.assert(property, { numRuns: longWalks });
    await app.close();
  }, 300_000);
});
