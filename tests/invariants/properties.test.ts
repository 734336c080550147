// Random sequences of what people, devices and services do with one account, checked against a small model: the guarantees of the
// service hold in any order, with any repetition, at any time and for any scope. Only steps advance the clock.

import { beforeAll, expect, test } from 'bun:test';
import { deviceCodeGrantType } from '@latchkey/contract/tokens';
import { type Link, linkFor } from '#support/account-scene.ts';
import { type Answer, type Ask, onBothDatabases, sharedNodes, type TestApp } from '#support/app.ts';
import { cancelDevice, type Decision, type DeviceCodes } from '#support/devices.ts';
import fc from '#support/fc.ts';
import { isLong } from '#support/long.ts';
import { exchange } from '#support/runs.ts';
import { declareService } from '#support/services.ts';
import { setDisabled } from '../../packages/server/src/identity/account/account.ts';
import { readToken } from '../../packages/server/src/sessions/tokens.ts';

const runs = isLong ? 300 : 60;
const maxLength = 60;
const day = 86_400;
const [accessTtl, idleTtl, sessionTtl, deviceTtl, linkTtl] = [14_400, 30 * day, 180 * day, 600, 900];
const [leeway, refreshRetry, redeemRetry, recentSignIn] = [10, 600, 60, 900];
const keyTtl = 2 * accessTtl;
const [runTokenTtl, runIdleTtl, runTtl, maxRunDepth] = [900, 3600, day, 3];
const [tickets, builds] = ['https://tickets.example/api', 'https://builds.example/api'];

/** What a request asks for. */
interface Access {
  readonly scope?: string;
  readonly resource?: string;
}
/** What a session may do. */
interface Granted {
  readonly scopes: readonly string[];
  readonly resource: string | null;
}
interface Token {
  /** Empty for a key, and for a run that no service acts in. */
  refresh: string;
  access: string;
  accessEnds: number;
}
interface Session extends Granted {
  readonly id: string;
  readonly kind: 'browser' | 'device' | 'key' | 'run';
  /** What a run is directly within. */
  readonly within: Session | undefined;
  readonly createdAt: number;
  readonly endsAt: number;
  ended: boolean;
  stolen: boolean;
  idleEnds: number;
  /** One per generation; only the last is unspent. */
  readonly tokens: Token[];
  rotatedAt: number;
  key: string | undefined;
}
/** Who sends a request. */
type By = readonly [session: Session, token: Token];
interface Device extends DeviceCodes {
  readonly asked: Access;
  readonly expires: number;
  state: 'pending' | 'approved' | 'denied' | 'redeemed' | 'cancelled';
  /** All sessions were revoked after the approval. */
  ended: boolean;
  interval: number;
  lastPoll: number;
  redeemedAt: number;
  key: string | undefined;
  session: Session | undefined;
}
interface OpenLink extends Link {
  readonly expires: number;
  spent: boolean;
  attempts: number;
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
const access = fc.record({ scope, resource }).map((asked) => JSON.parse(JSON.stringify(asked)) as Access);
/** An index counted from the newest item, so that recent items are picked most often. */
const which = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 2, arbitrary: fc.nat(3) });

/** What is drawn for each step. */
const draws = {
  /** How many seconds pass before it. */
  lapse: fc.constantFrom(0, 0, 0, 1),
  ...{ session: which, inBrowser: fc.boolean(), token: which, other: which, device: which, link: which },
  key: fc.constantFrom(undefined, 'a', 'a', 'b'),
  times: fc.constantFrom(1, 1, 3, 20),
  access,
  repeated: fc.oneof({ weight: 3, arbitrary: fc.constant<Access>({}) }, { weight: 1, arbitrary: access }),
  /** An endpoint takes JSON, and some take a form, too. */
  way: fc.constantFrom('JSON', '/token', '/refresh'),
  method: fc.constantFrom('POST', 'DELETE'),
  proof: fc.constantFrom('link', 'code', 'wrong code'),
  decision: fc.constantFrom<Decision[]>('approve', 'approve', 'deny', 'verify'),
  isRefresh: fc.boolean(),
  seconds: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(1, 4, 5, 10, 11) },
    { weight: 3, arbitrary: fc.constantFrom(60, 61, 300, 600, 601, 901) },
    { weight: 1, arbitrary: fc.constantFrom(accessTtl, 29 * day) },
  ),
};
type Drawn = { [Name in keyof typeof draws]: (typeof draws)[Name] extends fc.Arbitrary<infer T> ? T : never };

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

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  one.toSorted().join(' ') === other.toSorted().join(' ');

const holdsEverything = ({ scopes, resource }: Granted): boolean =>
  resource === null && isSame(scopes, everything);

/** The names in a scope that the service must accept; undefined if it must refuse it. */
function accepted(scope: string): readonly string[] | undefined {
  const found = scope.split(' ');
  if (scope === tooMany || !found.every((name) => name === '*' || names.includes(name))) return undefined;
  return found.includes('*') ? everything : found;
}

const grantedBy = ({ scope, resource }: Access): Granted => ({
  scopes: (scope === undefined ? undefined : accepted(scope)) ?? everything,
  resource: resource ?? null,
});

/** The code that must refuse a new login or key with this access; undefined if it is good. */
function refusalOf({ scope, resource }: Access): string | undefined {
  if (scope !== undefined && !accepted(scope)) return 'invalid_scope';
  return resource === undefined || [tickets, builds].includes(resource) ? undefined : 'invalid_target';
}

/** The code that must refuse a run with this access; undefined if it is within that of its parent. */
function excessOf({ scope, resource }: Access, parent: Granted): string | undefined {
  const scopes = scope === undefined ? parent.scopes : (accepted(scope) ?? everything);
  // Everything does not include openid.
  const held = isSame(parent.scopes, everything) ? names.filter((name) => name !== 'openid') : parent.scopes;
  if (!scopes.every((name) => held.includes(name))) return 'invalid_scope';
  const allowed = parent.resource === null ? [tickets, builds] : [parent.resource];
  return resource === undefined || allowed.includes(resource) ? undefined : 'invalid_target';
}

/** The code that must refuse to repeat this access for an existing login; undefined if it is its own. */
function changeOf({ scope, resource }: Access, own: Granted): string | undefined {
  if (scope !== undefined && !isSame(accepted(scope) ?? [], own.scopes)) return 'invalid_scope';
  return resource === undefined || resource === own.resource ? undefined : 'invalid_target';
}

const outcome = ({ status, body }: Answer): string => (status < 300 ? 'ok' : body.error);
/** Counted from the newest. There always is one: each sequence begins with a link, a session and a device. */
const pick = <T>(things: readonly T[], back: number): T => things.at(-(1 + (back % things.length)))!;

/** One account, its model, and the invariants that hold regardless of the model. */
class Run {
  readonly sessions: Session[] = [];
  readonly devices: Device[] = [];
  readonly links: OpenLink[] = [];
  disabled = false;
  /** What each refresh token, device code and link has yielded: never two different results. */
  readonly given = new Map<string, Set<string>>();

  readonly nodes: readonly TestApp[];
  readonly clock: { now: number };
  /** The credentials of the service of tickets, and of one without a resource, which acts in runs. */
  readonly services: readonly [tickets: string, agents: string];
  readonly email: string;
  #turn = 0;

  constructor({ nodes, clock, services }: Pick<Run, 'nodes' | 'clock' | 'services'>, email: string) {
    this.nodes = nodes;
    this.clock = clock;
    this.services = services;
    this.email = email;
  }

  get now() {
    return this.clock.now / 1000;
  }

  /** Each node in turn. */
  get app(): TestApp {
    return this.nodes[this.#turn++ % this.nodes.length]!;
  }

  by(drawn: Drawn): By {
    const sessions = this.sessions.filter(({ kind }) => !drawn.inBrowser || kind === 'browser');
    const session = pick(sessions, drawn.session);
    return [session, pick(session.tokens, drawn.token)];
  }

  wait(seconds: number): void {
    this.clock.now += seconds * 1000;
  }

  post(path: string, ask: Pick<Ask, 'json' | 'form' | 'headers'>, idempotencyKey?: string): Promise<Answer> {
    const key = idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey };
    return this.app.ask('POST', path, { ...ask, headers: { ...ask.headers, ...key } });
  }

  /** Sends the same request several times in parallel; `expected` are the outcomes in any order. */
  async together(times: number, send: () => Promise<Answer>, expected: string[]): Promise<Answer[]> {
    const answers = await Promise.all(Array.from({ length: times }, send));
    expect(answers.map(outcome).toSorted()).toEqual(expected.toSorted());
    return answers.filter(({ status }) => status === 200);
  }

  /** A response names the scope wherever that is narrow or the request named one. */
  note(source: string, successes: readonly Answer[], scope: string | undefined, { scopes }: Granted) {
    const seen = this.given.get(source) ?? new Set();
    this.given.set(source, seen);
    for (const { body } of successes) {
      seen.add(`${body.access_token} until ${this.now + body.expires_in}, ${body.refresh_token}`);
      const isNamed = scope !== undefined || !isSame(scopes, everything);
      if (isNamed) expect(body.scope.split(' ').toSorted()).toEqual(scopes.toSorted());
      else expect(body.scope).toBeUndefined();
    }
    expect(seen.size).toBeLessThanOrEqual(1);
    const body = successes[0]?.body;
    if (!body) return undefined;
    return {
      refresh: body.refresh_token as string,
      access: body.access_token as string,
      accessEnds: this.now + body.expires_in,
    };
  }

  begin(kind: Session['kind'], granted: Granted, token: Token, within?: Session): Session {
    const { now } = this;
    const fresh = { ended: false, stolen: false, createdAt: now, rotatedAt: now, key: undefined, within };
    const endsAt = Math.min(within?.endsAt ?? now + sessionTtl, now + runTtl);
    const ends =
      token.refresh === ''
        ? { idleEnds: token.accessEnds, endsAt: token.accessEnds }
        : kind === 'run'
          ? { idleEnds: Math.min(now + runIdleTtl, endsAt), endsAt }
          : { idleEnds: now + idleTtl, endsAt: now + sessionTtl };
    const id = readToken(this.app.ctx, token.access)!.sessionId;
    const session = { id, kind, ...granted, ...fresh, ...ends, tokens: [token] };
    this.sessions.push(session);
    return session;
  }

  isActive({ ended, idleEnds, endsAt, within }: Session): boolean {
    return !ended && this.now < Math.min(idleEnds, endsAt) && (!within || this.isActive(within));
  }

  /** Whether an access token works, which may outlive the idle timeout of a login, but not that of a run. */
  isGood([session, { accessEnds }]: By): boolean {
    return (session.kind === 'run' ? this.isActive(session) : !session.ended) && this.now < accessEnds;
  }

  authenticates(by: By): boolean {
    return !this.disabled && this.isGood(by);
  }

  /** What must refuse a token for an operation that needs every scope; with `fresh` also a recent sign-in. */
  refusalFor(by: By, fresh?: 'a browser' | 'a recent sign-in'): string | undefined {
    const [session] = by;
    if (!this.authenticates(by)) return 'invalid_token';
    if (!holdsEverything(session)) return 'insufficient_scope';
    const isRecent = this.now - session.createdAt <= recentSignIn;
    const isFresh = session.kind === 'browser' && (isRecent || fresh === 'a browser');
    return fresh === undefined || isFresh ? undefined : 'insufficient_user_authentication';
  }

  allEnded(): void {
    for (const session of this.sessions) session.ended = true;
    for (const device of this.devices) if (device.state === 'approved') device.ended = true;
  }

  async requestLink(): Promise<void> {
    const link = await linkFor(this.app, this.email);
    this.links.push({ ...link, spent: false, expires: this.now + linkTtl, attempts: 0 });
  }

  async signIn(): Promise<void> {
    await this.requestLink();
    await this.useLink(this.links.at(-1)!, { proof: 'link', times: 1 });
  }

  async useLink(link: OpenLink, { proof, times }: Pick<Drawn, 'proof' | 'times'>): Promise<void> {
    const byLink = proof === 'link';
    const code = proof === 'code' ? link.code : link.code === '0000-0000' ? '1111-1111' : '0000-0000';
    const expected: string[] = [];
    let signsIn = false;
    for (let i = 0; i < times; i++) {
      const open = !link.spent && !signsIn && this.now < link.expires && (byLink || link.attempts < 5);
      // A refusal rolls back the attempt, unless it is for a wrong code.
      const right = open && proof !== 'wrong code';
      if (open && !byLink && !(right && this.disabled)) link.attempts += 1;
      expected.push(!right ? 'invalid_grant' : this.disabled ? 'account_disabled' : 'ok');
      if (right && !this.disabled) signsIn = true;
    }
    const json = byLink ? { token: link.token } : { request: link.request, code };
    const successes = await this.together(times, () => this.post('/magic_link/verify', { json }), expected);
    const token = this.note(link.token, successes, undefined, grantedBy({}));
    if (!token) return;
    this.begin('browser', grantedBy({}), token);
    for (const one of this.links) one.spent = true;
  }

  async refresh(by: By, drawn: Drawn): Promise<void> {
    const [session, token] = by;
    const { key, repeated, way, times } = drawn;
    if (token.refresh === '') return;
    const expected = Array.from({ length: times }, () => this.predictRefresh(by, drawn));
    const json = { refresh_token: token.refresh, ...repeated };
    const form = { grant_type: 'refresh_token', ...json };
    const headers = session.kind === 'run' ? { Authorization: this.services[1] } : {};
    const send = () =>
      this.post(
        way === 'JSON' ? '/refresh' : way,
        { headers, ...(way === 'JSON' ? { json } : { form }) },
        key,
      );
    const successes = await this.together(times, send, expected);
    const next = this.note(token.refresh, successes, repeated.scope, session);
    if (next && token === session.tokens.at(-2) && session.tokens.at(-1)?.refresh === '') {
      session.tokens[session.tokens.length - 1] = next;
    }
  }

  predictRefresh([session, token]: By, { key: sent, repeated, way }: Drawn): string {
    if (this.disabled) return 'account_disabled';
    if (!this.isActive(session)) return 'invalid_grant';
    const change = changeOf(repeated, session);
    // A form without a key is recognized by its sender, who is always the same, within the leeway.
    const key = sent ?? (way === 'JSON' ? undefined : 'the sender');
    const retry = sent === undefined ? leeway : refreshRetry;
    if (token === session.tokens.at(-1)) {
      if (change) return change;
      session.tokens.push({ refresh: '', access: '', accessEnds: 0 });
      session.rotatedAt = this.now;
      session.key = key;
      session.idleEnds = this.now + (session.kind === 'run' ? runIdleTtl : idleTtl);
      return 'ok';
    }
    const age = this.now - session.rotatedAt;
    if (token === session.tokens.at(-2)) {
      if (key !== undefined && key === session.key && age <= retry) return change ?? 'ok';
      if (age <= leeway) return 'invalid_grant';
    }
    session.ended = true;
    session.stolen = true;
    return 'invalid_grant';
  }

  /** Sends a request with an access token. `wanted` is the outcome if that is valid. Returns the response unless it must be a refusal. */
  async call(
    by: By,
    method: string,
    path: string,
    { wanted = 'ok', ...ask }: Ask & { readonly wanted?: string | undefined } = {},
  ): Promise<Answer | undefined> {
    const answer = await this.app.ask(method, path, { token: by[1].access, ...ask });
    const expected = this.authenticates(by) ? wanted : 'invalid_token';
    expect([path, outcome(answer)]).toEqual([path, expected]);
    return expected === 'ok' ? answer : undefined;
  }

  async endThis(by: By, { method }: Drawn): Promise<void> {
    const answer =
      method === 'POST'
        ? await this.call(by, method, '/revoke', { json: { scope: 'session' } })
        : await this.call(by, method, '/logout?scope=session');
    if (answer) by[0].ended = true;
  }

  async endOther(by: By, other: Session): Promise<void> {
    const isOver = other.kind === 'run' ? !this.isActive(other) : other.ended || this.now >= other.endsAt;
    // As every session ends itself, whatever its scope.
    const isOwn = other === by[0] && other.kind !== 'key';
    const wanted = (isOwn ? undefined : this.refusalFor(by)) ?? (isOver ? 'not_found' : 'ok');
    const path = `/${other.kind === 'key' ? 'keys' : 'sessions'}/${other.id}`;
    if (await this.call(by, 'DELETE', path, { wanted })) other.ended = true;
  }

  async endAll(by: By, { method }: Drawn): Promise<void> {
    const path = method === 'POST' ? '/revoke' : '/logout';
    if (await this.call(by, method, path, { wanted: this.refusalFor(by) })) this.allEnded();
  }

  /** As OAuth clients do, with either token and without a scope. */
  async giveBack([session, token]: By, { isRefresh }: Drawn): Promise<void> {
    const byRefresh = isRefresh && token.refresh !== '';
    const answer = await this.post('/revoke', { form: { token: byRefresh ? token.refresh : token.access } });
    expect(outcome(answer)).toBe('ok');
    if (byRefresh || this.now < token.accessEnds) session.ended = true;
  }

  async makeKey(by: By, { access: asked }: Drawn): Promise<void> {
    const json = { name: 'key', scope: '*', ...asked, expires_in: keyTtl };
    const wanted = this.refusalFor(by, 'a recent sign-in') ?? refusalOf(asked);
    const answer = await this.call(by, 'POST', '/keys', { json, wanted });
    if (!answer) return;
    const granted = grantedBy(asked);
    expect(answer.body.scope.split(' ').toSorted()).toEqual(granted.scopes.toSorted());
    this.begin('key', granted, { refresh: '', access: answer.body.key, accessEnds: this.now + keyTtl });
  }

  /** As its holder, or as a service that then acts in the run and refreshes it. */
  async startRun(by: By, { access: asked, isRefresh: acts }: Drawn): Promise<void> {
    const [parent, token] = by;
    const path = [parent];
    for (let one = parent.within; one; one = one.within) path.push(one);
    const isRefused = !this.authenticates(by) || (acts && parent.resource !== null);
    const refusal = isRefused
      ? 'invalid_request'
      : (excessOf(asked, parent) ?? (path.length > maxRunDepth ? 'conflict' : undefined));
    const answer = await exchange(this.app, token.access, {
      ...asked,
      ...(acts && { by: this.services[1] }),
    });
    expect([asked, outcome(answer)]).toEqual([asked, refusal ?? 'ok']);
    if (refusal) return;
    const { scope, access_token: access, refresh_token: refresh = '', expires_in } = answer.body;
    const ends = [this.now + runTokenTtl, ...path.flatMap(({ idleEnds, endsAt }) => [idleEnds, endsAt])];
    const accessEnds = Math.min(...ends, ...(acts ? [] : [token.accessEnds]));
    const scopes: string[] = scope.split(' ');
    const wanted = asked.scope === undefined ? parent.scopes : accepted(asked.scope)!;
    expect([isSame(scopes, wanted), expires_in, refresh !== '']).toEqual([true, accessEnds - this.now, acts]);
    const granted = { scopes, resource: asked.resource ?? parent.resource };
    this.begin('run', granted, { access, refresh, accessEnds }, parent);
  }

  async startDevice({ access: asked, way }: Pick<Drawn, 'access' | 'way'>): Promise<void> {
    const answer = await this.post('/device', way === 'JSON' ? { json: asked } : { form: { ...asked } });
    const refusal = refusalOf(asked);
    expect(outcome(answer)).toBe(refusal ?? 'ok');
    if (refusal) return;
    const fresh = { state: 'pending', ended: false, interval: 5, lastPoll: 0, redeemedAt: 0 } as const;
    const unused = { key: undefined, session: undefined };
    this.devices.push({ ...answer.body, asked, expires: this.now + deviceTtl, ...fresh, ...unused });
  }

  async signDeviceIn(by: By, drawn: Drawn): Promise<void> {
    await this.startDevice(drawn);
    const device = this.devices.at(-1)!;
    await this.decide(by, device, { decision: 'approve' });
    await this.poll(device, drawn);
  }

  async decide(by: By, device: Device, { decision }: Pick<Drawn, 'decision'>): Promise<void> {
    const isApproval = decision === 'approve';
    const open = device.state === 'pending' && this.now < device.expires;
    const refusal = this.refusalFor(by, isApproval ? 'a recent sign-in' : 'a browser');
    const json = { user_code: device.user_code };
    const wanted = refusal ?? (open ? 'ok' : 'invalid_grant');
    const answer = await this.call(by, 'POST', `/device/${decision}`, { json, wanted });
    if (answer && decision !== 'verify') device.state = isApproval ? 'approved' : 'denied';
  }

  async cancel(device: Device): Promise<void> {
    expect((await cancelDevice(this.app, device)).status).toBe(200);
    if (device.session) device.session.ended = true;
    if (['pending', 'approved'].includes(device.state)) device.state = 'cancelled';
  }

  async poll(device: Device, drawn: Drawn): Promise<void> {
    const { key, repeated, way, times } = drawn;
    const expected = Array.from({ length: times }, () => this.predictPoll(device, drawn));
    const json = { device_code: device.device_code, ...repeated };
    const ask = way === 'JSON' ? { json } : { form: { grant_type: deviceCodeGrantType, ...json } };
    const intervals: number[] = [];
    const send = async () => {
      const answer = await this.post('/token', ask, key);
      if (outcome(answer) === 'slow_down') intervals.push(answer.body.interval);
      return answer;
    };
    const granted = grantedBy(device.asked);
    const successes = await this.together(times, send, expected);
    const token = this.note(device.device_code, successes, repeated.scope ?? device.asked.scope, granted);
    if (intervals.length > 0) expect(Math.max(...intervals)).toBe(device.interval);
    if (token && !device.session) device.session = this.begin('device', granted, token);
  }

  predictPoll(device: Device, { key, repeated }: Drawn): string {
    const isRedeemed = device.state === 'redeemed';
    if (isRedeemed && (key === undefined || key !== device.key || this.now - device.redeemedAt > redeemRetry))
      return 'invalid_grant';
    if (device.state === 'denied') return 'access_denied';
    if (device.state === 'cancelled') return 'invalid_grant';
    if (!isRedeemed && this.now >= device.expires) return 'expired_token';
    const change = changeOf(repeated, grantedBy(device.asked));
    if (change) return change;
    if (isRedeemed) {
      if (this.disabled) return 'account_disabled';
      const { session } = device;
      const good = !session || (this.isActive(session) && session.tokens.length === 1);
      return good ? 'ok' : 'invalid_grant';
    }
    if (device.state === 'approved') {
      if (this.disabled) return 'account_disabled';
      if (device.ended) return 'invalid_grant';
      Object.assign(device, { state: 'redeemed', redeemedAt: this.now, key });
      return 'ok';
    }
    if (this.now < device.lastPoll + device.interval - 1) {
      device.interval += 5;
      return 'slow_down';
    }
    device.lastPoll = this.now;
    return 'authorization_pending';
  }

  async disable(disabled: boolean): Promise<void> {
    expect(await setDisabled(this.app.ctx, this.email, disabled)).toBe(disabled !== this.disabled);
    if (disabled && !this.disabled) this.allEnded();
    this.disabled = disabled;
  }

  /**
   * At the end, every token ever issued must be accepted or refused as its session in the model demands and do what its scope holds,
   * the lists must hold the active sessions and keys, and the log every theft, once.
   */
  async checkAll(): Promise<void> {
    for (const session of this.sessions) {
      for (const token of session.tokens) await this.checkCalls([session, token]);
      await this.checkIntrospection(session);
    }
    const idsWhere = (holds: (session: Session) => boolean) =>
      this.sessions
        .filter(holds)
        .map(({ id }) => id)
        .toSorted();
    const live = this.sessions.find((one) => !this.refusalFor([one, one.tokens.at(-1)!]));
    if (live) {
      const { access: token } = live.tokens.at(-1)!;
      for (const list of ['sessions', 'keys']) {
        const { body } = await this.app.ask('GET', `/${list}?limit=100`, { token });
        const ids = idsWhere((one) => this.isActive(one) && (one.kind === 'key') === (list === 'keys'));
        expect(body[list].map(({ id }: { id: string }) => id).toSorted()).toEqual(ids);
      }
    }
    const thefts = await this.app.ctx.db.read.run<{ session_id: string }>(
      `SELECT session_id FROM events e JOIN users u ON u.id = e.user_id
       WHERE type = 'refresh_theft' AND email = '${this.email}'`,
      [],
    );
    expect(thefts.map(({ session_id }) => session_id).toSorted()).toEqual(idsWhere(({ stolen }) => stolen));
  }

  /** One call with an earlier token of the session, and all with the newest. */
  async checkCalls(by: By): Promise<void> {
    const [session, token] = by;
    const holds = (needed: readonly string[]) =>
      holdsEverything(session) ||
      (session.resource === null && needed.some((name) => session.scopes.includes(name)));
    for (const [method, path, needed, ask] of token === session.tokens.at(-1) ? calls : calls.slice(0, 1)) {
      const wanted = holds(needed) ? 'ok' : 'insufficient_scope';
      const answer = await this.call(by, method, path, { ...ask, wanted });
      if (!answer || path !== '/me' || method !== 'GET') continue;
      const shown = [
        ...always,
        ...(holds(['email']) ? ofEmail : []),
        ...(holds(['profile']) ? ofProfile : []),
      ];
      expect(Object.keys(answer.body).toSorted()).toEqual(shown.toSorted());
    }
  }

  async checkIntrospection(session: Session): Promise<void> {
    const { scopes, resource } = session;
    const { access, refresh } = session.tokens.at(-1)!;
    for (const [index, Authorization] of this.services.entries()) {
      const isRefresh = index > 0 && refresh !== '';
      const form = { token: isRefresh ? refresh : access };
      const { body } = await this.app.ask('POST', '/introspect', { form, headers: { Authorization } });
      const isLive = isRefresh ? this.isActive(session) : this.isGood([session, session.tokens.at(-1)!]);
      expect(body.active).toBe(isLive && !this.disabled && [null, [tickets, null][index]].includes(resource));
      if (!body.active) continue;
      expect(body.scope.split(' ').toSorted()).toEqual(scopes.toSorted());
      expect(body.aud).toBe(resource ?? undefined);
    }
  }
}

/** Each step weighs as much as it is likely to be drawn, and is taken with what it needs of everything drawn. */
const steps: Readonly<Record<string, readonly [weight: number, (run: Run, drawn: Drawn) => unknown]>> = {
  'request a link': [2, (run) => run.requestLink()],
  'sign in': [2, (run) => run.signIn()],
  'use a link': [4, (run, drawn) => run.useLink(pick(run.links, drawn.link), drawn)],
  refresh: [10, (run, drawn) => run.refresh(run.by(drawn), drawn)],
  use: [1, (run, drawn) => run.checkCalls(run.by(drawn))],
  'end this': [1, (run, drawn) => run.endThis(run.by(drawn), drawn)],
  'end other': [1, (run, drawn) => run.endOther(run.by(drawn), pick(run.sessions, drawn.other))],
  'end all': [1, (run, drawn) => run.endAll(run.by(drawn), drawn)],
  'give back': [1, (run, drawn) => run.giveBack(run.by(drawn), drawn)],
  'make a key': [3, (run, drawn) => run.makeKey(run.by(drawn), drawn)],
  'start a run': [6, (run, drawn) => run.startRun(run.by(drawn), drawn)],
  'sign a device in': [3, (run, drawn) => run.signDeviceIn(run.by(drawn), drawn)],
  'start a device': [4, (run, drawn) => run.startDevice(drawn)],
  decide: [6, (run, drawn) => run.decide(run.by(drawn), pick(run.devices, drawn.device), drawn)],
  cancel: [2, (run, drawn) => run.cancel(pick(run.devices, drawn.device))],
  poll: [10, (run, drawn) => run.poll(pick(run.devices, drawn.device), drawn)],
  disable: [1, (run) => run.disable(true)],
  enable: [3, (run) => run.disable(false)],
  wait: [4, (run, { seconds }) => run.wait(seconds)],
};

const step = fc.oneof(
  ...Object.entries(steps).map(([name, [weight]]) => ({
    weight,
    arbitrary: fc.record({ name: fc.constant(name), drawn: fc.record(draws) }),
  })),
);

onBothDatabases('any sequence of steps', (open, dialect) => {
  const { app, node } = sharedNodes(open, dialect);
  const nodes = [...new Set([app, node])];
  const clock = { now: 0 };
  let services: Run['services'];
  let people = 0;
  beforeAll(async () => {
    const scopes = [{ name: 'tickets:read', sentence: 'Read your tickets' }];
    const { authorization: ofTickets } = await declareService(app.ctx, { scopes, resource: tickets });
    const { authorization: agents } = await declareService(app.ctx, { rights: ['users', 'delegate'] });
    services = [ofTickets, agents];
    await declareService(app.ctx, { name: 'Builds', resource: builds });
    clock.now = app.ctx.clock();
    for (const { ctx } of nodes) Object.assign(ctx, { clock: () => clock.now });
  });

  test('no token, code or link has a second effect, no ended session works again, and no token does more than its scope and its maker', async () => {
    const property = fc.asyncProperty(
      fc.array(step, { minLength: 20, maxLength, size: 'max' }),
      async (sequence) => {
        const run = new Run({ nodes, clock, services }, `person-${people++}@example.com`);
        await run.signIn();
        await run.startDevice({ access: {}, way: 'JSON' });
        for (const { name, drawn } of sequence) {
          run.wait(drawn.lapse);
          await steps[name]![1](run, drawn);
        }
        await run.checkAll();
      },
    );
    await fc.assert(property, { numRuns: runs });
  });
});
