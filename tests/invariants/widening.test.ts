// Random sequences of sign-ins, device sign-ins, refreshes and keys, checked against a small model: no token ever does what its scope, or
// that of the token that made it, does not hold.

import { beforeAll, expect, test } from 'bun:test';
import { deviceCodeGrantType, type TokenSet } from '@latchkey/contract/tokens';
import { outcome } from '#support/account.ts';
import { type Answer, type Ask, onBothDatabases, type TestApp } from '#support/app.ts';
import fc from '#support/fc.ts';
import { isLong } from '#support/long.ts';
import { declareService } from '#support/services.ts';
import { shared } from '#support/shared.ts';

const runs = isLong ? 60 : 20;
const maxLength = 40;
const [tickets, builds] = ['https://tickets.example/api', 'https://builds.example/api'];

/** What a request asks for, a token request included. */
interface Access {
  readonly scope?: string;
  readonly resource?: string;
}

/** A token that was issued, with what it may do. */
interface Token {
  readonly access: string;
  refresh: string | undefined;
  readonly kind: 'browser' | 'device' | 'key';
  readonly scopes: readonly string[];
  readonly resource: string | null;
  /** Shared by all tokens of a session. */
  readonly session: { ended: boolean };
}

interface Device {
  readonly code: string;
  readonly userCode: string;
  readonly asked: Access;
  /** `ended`: all sessions were revoked after the approval. */
  state: 'pending' | 'approved' | 'redeemed' | 'ended';
}

const names = ['profile', 'email', 'organizations', 'openid', 'tickets:read'];
const everything = ['*'];
const tooMany = Array.from({ length: 21 }, () => 'email').join(' ');

const scope = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(undefined, undefined, '*') },
  {
    weight: 1,
    arbitrary: fc.constantFrom('', 'unknown', '* unknown', 'profile *', 'PROFILE', 'profile  email', tooMany),
  },
  { weight: 4, arbitrary: fc.shuffledSubarray(names, { minLength: 1 }).map((some) => some.join(' ')) },
);
const resource = fc.constantFrom(undefined, undefined, undefined, tickets, builds, '', `${tickets}/`);
const access: fc.Arbitrary<Access> = fc
  .record({ scope, resource })
  .map((asked) => JSON.parse(JSON.stringify(asked)) as Access);
/** An index counted from the newest item, so that recent items are picked most often. */
const which = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 3, arbitrary: fc.nat(6) });
const asForm = fc.boolean();
const refreshPath = fc.constantFrom('/refresh', '/token');

type Command =
  | { do: 'sign in' }
  | { do: 'start a device'; asked: Access; asForm: boolean }
  | { do: 'approve'; device: number; by: number }
  | { do: 'poll'; device: number; asked: Access; asForm: boolean }
  | { do: 'refresh'; by: number; asked: Access; asForm: boolean; path: string }
  | { do: 'make a key'; by: number; asked: Access }
  | { do: 'end this' | 'end all' | 'give back'; by: number };

const weighted = (weight: number, arbitrary: fc.Arbitrary<Command>) => ({ weight, arbitrary });
const command = fc.oneof(
  weighted(1, fc.record({ do: fc.constant('sign in') })),
  weighted(4, fc.record({ do: fc.constant('start a device'), asked: access, asForm })),
  weighted(4, fc.record({ do: fc.constant('approve'), device: which, by: which })),
  weighted(5, fc.record({ do: fc.constant('poll'), device: which, asked: access, asForm })),
  weighted(4, fc.record({ do: fc.constant('refresh'), by: which, asked: access, asForm, path: refreshPath })),
  weighted(3, fc.record({ do: fc.constant('make a key'), by: which, asked: access })),
  weighted(1, fc.record({ do: fc.constantFrom('end this', 'end all', 'give back'), by: which })),
) as fc.Arbitrary<Command>;

/** Calls that end nothing, with the scopes of which they need one. */
const calls: readonly (readonly [method: string, path: string, needed: readonly string[], ask?: Ask])[] = [
  ['GET', '/me', ['profile', 'email']],
  ['GET', '/organizations', ['organizations']],
  ['GET', '/sessions', everything],
  ['GET', '/keys', everything],
  ['GET', '/events', everything],
  ['PATCH', '/me', everything, { json: {} }],
];

/** The members of a profile: always, and with the scopes `email` and `profile`. */
const always = ['id', 'created_at', 'updated_at'];
const ofEmail = ['email', 'email_verified'];
const ofProfile = ['name', 'avatar_url', 'locale', 'time_zone'];

const pick = <T>(things: readonly T[], back: number): T | undefined =>
  things.at(-(1 + (back % Math.max(things.length, 1))));

/** The names in a scope that the service must accept; undefined if it must refuse it. */
function accepted(asked: string): readonly string[] | undefined {
  const found = asked.split(' ');
  if (asked === tooMany || !found.every((name) => name === '*' || names.includes(name))) return undefined;
  return found.includes('*') ? everything : found;
}

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  one.toSorted().join(' ') === other.toSorted().join(' ');

/** The code that must refuse a new login with this access; undefined if it is good. */
function refusalOf({ scope, resource }: Access): string | undefined {
  if (scope !== undefined && !accepted(scope)) return 'invalid_scope';
  return resource === undefined || [tickets, builds].includes(resource) ? undefined : 'invalid_target';
}

/** The code that must refuse to repeat this access for an existing login; undefined if it is its own. */
function changeOf({ scope, resource }: Access, own: Pick<Token, 'scopes' | 'resource'>): string | undefined {
  const isOwn = scope === undefined || isSame(accepted(scope) ?? [], own.scopes);
  if (!isOwn) return 'invalid_scope';
  return resource === undefined || resource === own.resource ? undefined : 'invalid_target';
}

const grantedBy = ({ scope, resource }: Access): Pick<Token, 'scopes' | 'resource'> => ({
  scopes: (scope === undefined ? undefined : accepted(scope)) ?? everything,
  resource: resource ?? null,
});

/** What must refuse a token that is not good for an operation which needs every scope. */
function refusalFor({ session, scopes, resource }: Token): string | undefined {
  if (session.ended) return '401 invalid_token';
  return resource === null && isSame(scopes, everything) ? undefined : '403 insufficient_scope';
}

/** One account and its model. */
class Run {
  readonly tokens: Token[] = [];
  readonly devices: Device[] = [];
  readonly app: TestApp;
  /** The credentials of the service of tickets, and of one without a resource. */
  readonly services: readonly string[];
  readonly email: string;

  constructor(app: TestApp, services: readonly string[], email: string) {
    this.app = app;
    this.services = services;
    this.email = email;
  }

  send(path: string, members: object, asForm: boolean): Promise<Answer> {
    const form = { ...members } as Record<string, string>;
    return this.app.ask('POST', path, asForm ? { form } : { json: members });
  }

  /** A token answer names the scope wherever it is narrow or the request named one. */
  note({ body }: Answer, { scope }: Access, granted: Omit<Token, 'access' | 'refresh'>): void {
    const tokens = body as TokenSet;
    const isNamed = scope !== undefined || !isSame(granted.scopes, everything);
    if (isNamed) expect(isSame(tokens.scope?.split(' ') ?? [], granted.scopes)).toBe(true);
    else expect(tokens.scope).toBeUndefined();
    this.tokens.push({ ...granted, access: tokens.access_token, refresh: tokens.refresh_token });
  }

  async signIn(): Promise<void> {
    const { access_token, refresh_token } = await this.app.login(this.email);
    const granted = { kind: 'browser', ...grantedBy({}), session: { ended: false } } as const;
    this.tokens.push({ access: access_token, refresh: refresh_token, ...granted });
  }

  async startDevice(asked: Access, asForm: boolean): Promise<void> {
    const answer = await this.send('/device', asked, asForm);
    const refusal = refusalOf(asked);
    expect(outcome(answer)).toBe(refusal ? `400 ${refusal}` : '200');
    if (refusal) return;
    const { device_code: code, user_code: userCode } = answer.body;
    this.devices.push({ code, userCode, asked, state: 'pending' });
  }

  async approve(device: Device, by: Token): Promise<void> {
    const answer = await this.app.ask('POST', '/device/approve', {
      json: { user_code: device.userCode },
      token: by.access,
    });
    const isBrowser = by.kind === 'browser';
    const refusal = refusalFor(by) ?? (isBrowser ? undefined : '401 insufficient_user_authentication');
    const isPending = device.state === 'pending';
    expect(outcome(answer)).toBe(refusal ?? (isPending ? '204' : '400 invalid_grant'));
    if (!refusal && isPending) device.state = 'approved';
  }

  async poll(device: Device, asked: Access, asForm: boolean): Promise<void> {
    const members = { device_code: device.code, ...asked };
    const form = asForm ? { grant_type: deviceCodeGrantType } : {};
    const answer = await this.send('/token', { ...form, ...members }, asForm);
    const granted = grantedBy(device.asked);
    const change = device.state === 'redeemed' ? undefined : changeOf(asked, granted);
    if (device.state === 'pending' && !change) {
      expect(['400 authorization_pending', '400 slow_down']).toContain(outcome(answer));
      return;
    }
    const refusal = change ?? (device.state === 'approved' ? undefined : 'invalid_grant');
    expect(outcome(answer)).toBe(refusal ? `400 ${refusal}` : '200');
    if (refusal) return;
    device.state = 'redeemed';
    const access = asked.scope === undefined ? device.asked : asked;
    this.note(answer, access, { kind: 'device', ...granted, session: { ended: false } });
  }

  async refresh(token: Token, asked: Access, asForm: boolean, path: string): Promise<void> {
    if (token.refresh === undefined) return;
    const members = { refresh_token: token.refresh, ...asked };
    const answer = asForm
      ? await this.send(path, { grant_type: 'refresh_token', ...members }, true)
      : await this.send('/refresh', members, false);
    const refusal = token.session.ended ? 'invalid_grant' : changeOf(asked, token);
    expect(outcome(answer)).toBe(refusal ? `400 ${refusal}` : '200');
    if (refusal) return;
    token.refresh = undefined;
    const { kind, scopes, resource, session } = token;
    this.note(answer, asked, { kind, scopes, resource, session });
  }

  async makeKey(by: Token, asked: Access): Promise<void> {
    const json = { name: 'key', scope: '*', ...asked, expires_in: 3_600 };
    const answer = await this.app.ask('POST', '/keys', { json, token: by.access });
    const isBrowser = by.kind === 'browser';
    const access = refusalFor(by) ?? (isBrowser ? undefined : '401 insufficient_user_authentication');
    const refusal = refusalOf(asked);
    expect(outcome(answer)).toBe(access ?? (refusal ? `400 ${refusal}` : '201'));
    if (answer.status !== 201) return;
    const granted = grantedBy(asked);
    expect(isSame(answer.body.scope.split(' '), granted.scopes)).toBe(true);
    const session = { ended: false };
    this.tokens.push({ access: answer.body.key, refresh: undefined, kind: 'key', ...granted, session });
  }

  async end(by: Token, what: 'end this' | 'end all'): Promise<void> {
    const own = what === 'end this';
    const path = own ? '/logout?scope=session' : '/logout';
    const answer = await this.app.ask('DELETE', path, { token: by.access });
    const refusal = own ? (by.session.ended ? '401 invalid_token' : undefined) : refusalFor(by);
    expect(outcome(answer)).toBe(refusal ?? '204');
    if (refusal) return;
    by.session.ended = true;
    if (own) return;
    for (const { session } of this.tokens) session.ended = true;
    for (const device of this.devices) if (device.state === 'approved') device.state = 'ended';
  }

  /** As OAuth clients do, with either token and without a scope. */
  async giveBack({ access, refresh, session }: Token): Promise<void> {
    const token = this.tokens.length % 2 === 0 ? access : (refresh ?? access);
    const answer = await this.app.ask('POST', '/revoke', { form: { token } });
    expect(outcome(answer)).toBe('200');
    session.ended = true;
  }

  async step(command: Command): Promise<void> {
    const by = 'by' in command ? pick(this.tokens, command.by) : undefined;
    const device = 'device' in command ? pick(this.devices, command.device) : undefined;
    if (command.do === 'sign in') await this.signIn();
    if (command.do === 'start a device') await this.startDevice(command.asked, command.asForm);
    if (command.do === 'poll' && device) await this.poll(device, command.asked, command.asForm);
    if (!by) return;
    if (command.do === 'approve' && device) await this.approve(device, by);
    if (command.do === 'refresh') await this.refresh(by, command.asked, command.asForm, command.path);
    if (command.do === 'make a key') await this.makeKey(by, command.asked);
    if (command.do === 'give back') await this.giveBack(by);
    if (command.do === 'end this' || command.do === 'end all') await this.end(by, command.do);
  }

  async checkAll(): Promise<void> {
    for (const token of this.tokens) {
      await this.checkCalls(token);
      await this.checkIntrospection(token);
    }
  }

  async checkCalls({ access: token, session, scopes, resource }: Token): Promise<void> {
    const holds = (needed: readonly string[]) =>
      resource === null && (isSame(scopes, everything) || needed.some((name) => scopes.includes(name)));
    for (const [method, path, needed, ask] of calls) {
      const answer = await this.app.ask(method, path, { ...ask, token });
      const wanted = holds(needed) ? '200' : '403 insufficient_scope';
      expect([path, outcome(answer)]).toEqual([path, session.ended ? '401 invalid_token' : wanted]);
      if (path !== '/me' || method !== 'GET' || answer.status !== 200) continue;
      const shown = [
        ...always,
        ...(holds(['email']) ? ofEmail : []),
        ...(holds(['profile']) ? ofProfile : []),
      ];
      expect(Object.keys(answer.body).toSorted()).toEqual(shown.toSorted());
    }
  }

  async checkIntrospection({ access, refresh, session, scopes, resource }: Token): Promise<void> {
    for (const [index, Authorization] of this.services.entries()) {
      const token = index === 0 ? access : (refresh ?? access);
      const ask = { form: { token }, headers: { Authorization } };
      const { body } = await this.app.ask('POST', '/introspect', ask);
      expect(body.active).toBe(!session.ended && [null, [tickets, null][index]].includes(resource));
      if (!body.active) continue;
      expect(isSame(body.scope.split(' '), scopes)).toBe(true);
      expect(body.aud).toBe(resource ?? undefined);
    }
  }
}

onBothDatabases('the scope of tokens', (open) => {
  const app = shared(open);
  let services: readonly string[];
  let people = 0;
  beforeAll(async () => {
    const scopes = [{ name: 'tickets:read', sentence: 'Read your tickets' }];
    const declared = [
      await declareService(app.ctx, { scopes, resource: tickets }),
      await declareService(app.ctx),
    ];
    services = declared.map(({ authorization }) => authorization);
    await declareService(app.ctx, { name: 'Builds', resource: builds });
  });

  test('in any sequence of logins, approvals, refreshes and keys, no token does more than its scope and its maker', async () => {
    const property = fc.asyncProperty(
      fc.array(command, { minLength: 10, maxLength, size: 'max' }),
      async (commands) => {
        const run = new Run(app, services, `person-${people++}@example.com`);
        await run.signIn();
        for (const command of commands) await run.step(command);
        await run.checkAll();
      },
    );
    await fc.assert(property, { numRuns: runs });
  });
});
