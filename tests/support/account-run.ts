// What people, devices and services do with one account of a running service, each step checked against the model of the account.

import { expect } from 'bun:test';
import { deviceCodeGrantType } from '@latchkey/contract/tokens';
import { setDisabled } from '../../packages/server/src/identity/account/account.ts';
import { emailKeyOf } from '../../packages/server/src/platform/values/email-key.ts';
import { addPasskey, newAuthenticator, sameOrigin, sessionCookieIn } from './account.ts';
import { type Drawn, plainly } from './account-draws.ts';
import {
  Account,
  accepted,
  type By,
  type Code,
  type Device,
  day,
  everything,
  excessOf,
  type Granted,
  grantedBy,
  holdsEverything,
  isSame,
  type OpenLink,
  type Passkey,
  type Repetition,
  refreshRetry,
  refusalOf,
  type Session,
  type Token,
  tickets,
} from './account-model.ts';
import { linkFor, rowsOf, sessionIn, tokenOf } from './account-scene.ts';
import type { Answer, Ask, TestApp } from './app.ts';
import { codeFor, redeem, requestOf } from './authorize.ts';
import { cancelDevice } from './devices.ts';
import { exchange } from './runs.ts';
import type { TestService } from './services.ts';

const [accessTtl, deviceTtl, linkTtl, codeTtl, changeTtl] = [14_400, 600, 900, 60, 3600];
const keyTtl = 2 * accessTtl;
const [runTokenTtl, maxRunDepth] = [900, 3];

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

const outcome = ({ status, body }: Answer): string => (status < 300 ? 'ok' : body.error);
/** Counted from the newest. */
export const pick = <T>(things: readonly T[], back: number): T | undefined =>
  things.at(-1 - (back % things.length));
export const newest = ({ tokens }: Session): Token => tokens.at(-1)!;

export const credentialOf = ({ access, cookie }: Token) =>
  cookie === undefined ? { token: access } : { cookie, headers: sameOrigin };

const placeOf = (place: number) => ({
  peer: `198.51.${place}.7`,
  headers: { 'User-Agent': `Browser ${'ABCD'[place]}` },
});

/** The database, the clock and the services of all accounts. */
export interface Surroundings {
  readonly nodes: readonly TestApp[];
  readonly clock: { now: number };
  /** The service of tickets, and one without a resource, which acts in runs and to which people sign in. */
  readonly services: readonly [tickets: TestService, agents: TestService];
}

/** What is done with one account, and the invariants that hold regardless of its model. */
export class Run extends Account {
  /** What each refresh token, device code and link has yielded: never two different results. */
  readonly given = new Map<string, Set<string>>();
  readonly around: Surroundings;
  readonly startedAt: number;
  userId = '';
  #turn = 0;
  #names = 0;

  constructor(around: Surroundings, name: string) {
    super(around.clock, `${name}@example.com`);
    this.around = around;
    this.startedAt = this.now;
  }

  /** Each node in turn. */
  get app(): TestApp {
    const { nodes } = this.around;
    return nodes[this.#turn++ % nodes.length]!;
  }

  newName = (): string => `thing ${++this.#names}`;

  by({ among, session: back, nth, token }: Drawn): By {
    const isLive = among.startsWith('live');
    const isAmong = (one: Session) =>
      (!among.endsWith('browsers') || one.kind === 'browser') &&
      (!isLive || this.authenticates([one, newest(one)]));
    const session = pick(this.sessions.filter(isAmong), isLive ? nth : back) ?? this.sessions[0]!;
    return [session, pick(session.tokens, token)!];
  }

  /** A recent sign-in in a browser with a token. */
  async recent({ session: back, place }: Drawn) {
    const isRecent = (one: Session) =>
      newest(one).access !== '' && !this.refusalFor([one, newest(one)], 'a recent sign-in');
    if (!this.sessions.some(isRecent)) await this.signIn(place);
    const session = pick(this.sessions.filter(isRecent), back)!;
    return { session, token: newest(session).access };
  }

  wait(seconds: number): void {
    this.around.clock.now += seconds * 1000;
  }

  query = <Row>(statement: string): Promise<Row[]> => rowsOf<Row>(this.app, statement);

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
  note(
    source: string,
    successes: readonly Answer[],
    scope: string | undefined,
    { scopes }: Granted,
  ): Token | undefined {
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

  begin(of: Pick<Session, 'kind' | keyof Granted> & Partial<Session>, token: Token): Session {
    return this.add({ id: sessionIn(this.app, credentialOf(token))!, ...of }, token);
  }

  async requestLink(): Promise<OpenLink> {
    const { address: to, links } = this;
    const fresh = { to, spent: false, expires: this.now + linkTtl, attempts: 0 };
    const link = { ...(await linkFor(this.app, to)), ...fresh };
    links.push(link);
    return link;
  }

  async signIn(place: number): Promise<void> {
    await this.useLink(await this.requestLink(), { proof: 'link', times: 1, place });
  }

  async useLink(
    link: OpenLink,
    { proof, times, place }: Pick<Drawn, 'proof' | 'times' | 'place'>,
  ): Promise<void> {
    // With a link to another address begins another account.
    if (!link.spent && emailKeyOf(link.to) !== emailKeyOf(this.address)) return;
    const { token, request } = link;
    const code = proof === 'code' ? link.code : link.code === '0000-0000' ? '1111-1111' : '0000-0000';
    const expected = Array.from({ length: times }, () => this.predictLink(link, proof));
    const json = proof === 'link' ? { token } : { request, code };
    const send = () => this.post('/magic_link/verify', { json, ...placeOf(place) });
    const tokens = this.note(token, await this.together(times, send, expected), undefined, grantedBy({}));
    if (tokens) this.begin({ kind: 'browser', ...grantedBy({}), place }, tokens);
  }

  /** As a page does, in a browser where another one may have signed in before. */
  async signInAsPage({ place, session, either }: Drawn): Promise<void> {
    const link = await this.requestLink();
    const before = this.sessions.filter((one) => newest(one).cookie !== undefined);
    const previous = either ? pick(before, session) : undefined;
    const { peer, headers } = placeOf(place);
    const answer = await this.app.ask('POST', '/magic_link/verify?session=cookie', {
      ...(previous && credentialOf(newest(previous))),
      ...{ json: { token: link.token }, peer, headers: { ...headers, ...sameOrigin } },
    });
    expect(outcome(answer)).toBe(this.predictLink(link, 'link'));
    const cookie = { cookie: sessionCookieIn(answer), accessEnds: Number.POSITIVE_INFINITY };
    const isReplaced = previous && this.isActive(previous);
    const login = this.begin(
      { kind: 'browser', ...grantedBy({}), place },
      { refresh: '', access: '', ...cookie },
    );
    if (!isReplaced) return;
    this.end(previous);
    for (const one of this.sessions) if (one.within === previous) one.within = login;
  }

  async signInWithPasskey(passkey: Passkey | undefined, place: number): Promise<void> {
    if (!passkey) return;
    const { body } = await this.app.ask('POST', '/passkey/login/challenge');
    const json = passkey.authenticator.get(body);
    const answer = await this.app.ask('POST', '/passkey/login', { json, ...placeOf(place) });
    expect(outcome(answer)).toBe(passkey.isGone ? 'unknown_credential' : 'ok');
    if (passkey.isGone) return;
    const token = this.note(`a sign-in at ${this.newName()}`, [answer], undefined, grantedBy({}))!;
    this.begin({ kind: 'browser', ...grantedBy({}), place, passkey }, token);
  }

  async addPasskey(drawn: Drawn): Promise<void> {
    const { passkeys, unread } = this;
    if (passkeys.filter(({ isGone }) => !isGone).length >= 20) return;
    const by = await this.recent(drawn);
    const [authenticator, name] = [newAuthenticator(this.app), this.newName()];
    const answer = await addPasskey(this.app, { access_token: by.token }, authenticator, name);
    expect(outcome(answer)).toBe('ok');
    passkeys.push({ began: this.next(), id: answer.body.id, name, authenticator, isGone: false });
    unread.push('passkey_added');
  }

  async removePasskey(by: By, passkey: Passkey | undefined): Promise<void> {
    if (!passkey) return;
    const wanted = this.refusalFor(by, 'a recent sign-in') ?? (passkey.isGone ? 'not_found' : 'ok');
    if (!(await this.call(by, 'DELETE', `/passkeys/${passkey.id}`, { wanted }))) return;
    passkey.isGone = true;
    this.unread.push('passkey_removed');
  }

  async refresh(by: By, drawn: Repetition & Pick<Drawn, 'times'>): Promise<void> {
    const [session, token] = by;
    const { key, repeated, way, times } = drawn;
    if (token.refresh === '') return;
    const expected = Array.from({ length: times }, () => this.predictRefresh(by, drawn));
    const json = { refresh_token: token.refresh, ...repeated };
    const form = { grant_type: 'refresh_token', ...json };
    const headers = session.kind === 'run' ? { Authorization: this.around.services[1].authorization } : {};
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

  /** Uses a spent token once more, when it is too late to repeat a refresh. */
  async steal({ session }: Drawn): Promise<void> {
    const isSpent = (one: Session) => one.tokens.length > 1 && this.isActive(one);
    const one = pick(this.sessions.filter(isSpent), session);
    if (!one) return;
    this.wait(refreshRetry + 1);
    await this.refresh([one, one.tokens.at(-2)!], plainly);
  }

  /** Sends a request with an access token. `wanted` is the outcome if that is valid. Returns the response unless it must be a refusal. */
  async call(
    by: By,
    method: string,
    path: string,
    { wanted = 'ok', ...ask }: Ask & { readonly wanted?: string | undefined } = {},
  ): Promise<Answer | undefined> {
    const answer = await this.app.ask(method, path, { ...credentialOf(by[1]), ...ask });
    const expected = this.authenticates(by) ? wanted : 'invalid_token';
    expect([path, outcome(answer)]).toEqual([path, expected]);
    return expected === 'ok' ? answer : undefined;
  }

  async endThis(by: By, { method }: Drawn): Promise<void> {
    const answer =
      method === 'POST'
        ? await this.call(by, method, '/revoke', { json: { scope: 'session' } })
        : await this.call(by, method, '/logout?scope=session');
    if (answer) this.end(by[0]);
  }

  async endOther(by: By, other: Session): Promise<void> {
    const isOver = other.kind === 'run' ? !this.isActive(other) : other.ended || this.now >= other.endsAt;
    // As every session ends itself, whatever its scope.
    const isOwn = other === by[0] && other.kind !== 'key';
    const wanted = (isOwn ? undefined : this.refusalFor(by)) ?? (isOver ? 'not_found' : 'ok');
    const path = `/${other.kind === 'key' ? 'keys' : 'sessions'}/${other.id}`;
    if (await this.call(by, 'DELETE', path, { wanted })) this.end(other);
  }

  async endAll(by: By, { method }: Drawn): Promise<void> {
    const path = method === 'POST' ? '/revoke' : '/logout';
    if (await this.call(by, method, path, { wanted: this.refusalFor(by) })) this.allEnded();
  }

  /** As OAuth clients do, with either token and without a scope. */
  async giveBack([session, token]: By, { either }: Drawn): Promise<void> {
    if (token.cookie !== undefined) return;
    const byRefresh = either && token.refresh !== '';
    const form = { token: byRefresh ? token.refresh : token.access };
    const answer = await this.post('/revoke', { form });
    expect(outcome(answer)).toBe('ok');
    if (byRefresh || this.now < token.accessEnds) this.end(session);
  }

  async makeKey(by: By, { access: asked }: Drawn): Promise<void> {
    const name = this.newName();
    const json = { name, scope: '*', ...asked, expires_in: keyTtl };
    const wanted = this.refusalFor(by, 'a recent sign-in') ?? refusalOf(asked);
    const answer = await this.call(by, 'POST', '/keys', { json, wanted });
    if (!answer) return;
    const granted = grantedBy(asked);
    expect(answer.body.scope.split(' ').toSorted()).toEqual(granted.scopes.toSorted());
    const token = { refresh: '', access: answer.body.key, accessEnds: this.now + keyTtl };
    this.begin({ kind: 'key', ...granted, name }, token);
  }

  /** As its holder, or as a service that then acts in the run and refreshes it. */
  async startRun(by: By, { access: asked, either }: Drawn): Promise<void> {
    const [parent, token] = by;
    if (token.cookie !== undefined && !this.authenticates(by)) return;
    const acts = either && token.cookie === undefined;
    const path = [parent];
    for (let one = parent.within; one; one = one.within) path.push(one);
    const isRefused = !this.authenticates(by) || (acts && parent.resource !== null);
    const refusal = isRefused
      ? 'invalid_request'
      : (excessOf(asked, parent) ?? (path.length > maxRunDepth ? 'conflict' : undefined));
    const answer = await exchange(this.app, token.access || undefined, {
      ...asked,
      ...(token.cookie !== undefined && credentialOf(token)),
      ...(acts && { by: this.around.services[1].authorization }),
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
    this.begin({ kind: 'run', ...granted, within: parent }, { access, refresh, accessEnds });
  }

  /** When the token is about to expire. */
  async startLateRun(by: By, drawn: Drawn): Promise<void> {
    const left = by[1].accessEnds - this.now;
    if (Number.isFinite(left)) this.wait(Math.max(0, left - 100));
    await this.startRun(by, { ...drawn, access: { scope: 'profile' } });
  }

  /** Starts a run within the newest one, and refreshes it for longer than that one lives without being used. */
  async keepRun(drawn: Drawn): Promise<void> {
    const outer = this.sessions.findLast(({ kind }) => kind === 'run');
    if (!outer) return;
    await this.startRun([outer, newest(outer)], { ...drawn, either: true, access: {} });
    const kept = this.sessions.at(-1)!;
    for (let refreshes = 0; refreshes < 3; refreshes++) {
      this.wait(1_400);
      await this.refresh([kept, newest(kept)], plainly);
    }
  }

  async startDevice({ access: asked, way }: Pick<Drawn, 'access' | 'way'>): Promise<void> {
    const name = this.newName();
    const json = { device_name: name, ...asked };
    const answer = await this.post('/device', way === 'JSON' ? { json } : { form: json });
    const refusal = refusalOf(asked);
    expect(outcome(answer)).toBe(refusal ?? 'ok');
    if (refusal) return;
    const fresh = { state: 'pending', ended: false, interval: 5, lastPoll: 0, redeemedAt: 0 } as const;
    const unused = { name, approver: undefined, key: undefined, session: undefined };
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
    if (!answer || decision === 'verify') return;
    device.state = isApproval ? 'approved' : 'denied';
    device.approver = by[0];
  }

  async cancel(device: Device): Promise<void> {
    expect((await cancelDevice(this.app, device)).status).toBe(200);
    if (device.session) this.end(device.session);
    if (['pending', 'approved'].includes(device.state)) device.state = 'cancelled';
  }

  async poll(device: Device, drawn: Repetition & Pick<Drawn, 'times'>): Promise<void> {
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
    if (token && !device.session)
      device.session = this.begin(
        { kind: 'device', ...granted, name: device.name, approver: device.approver },
        token,
      );
  }

  async approveApp(drawn: Drawn): Promise<void> {
    const by = await this.recent(drawn);
    const secret = await codeFor(this.app, { access_token: by.token }, requestOf(this.around.services[1].id));
    const open = { spent: false, expires: this.now + codeTtl };
    this.codes.push({ name: 'Agents', secret, approver: by.session, ...open });
  }

  async redeem(code: Code | undefined): Promise<void> {
    if (!code || code.spent) return;
    const headers = { Authorization: this.around.services[1].authorization };
    const answer = await redeem(this.app, code.secret, {}, { headers });
    const isGood = this.now < code.expires && this.isActive(code.approver);
    expect(outcome(answer)).toBe(isGood ? 'ok' : 'invalid_grant');
    code.spent = true;
    if (!isGood) return;
    const granted = { scopes: ['profile'], resource: null };
    const { access } = this.note(code.secret, [answer], 'profile', granted)!;
    const token = { refresh: '', access, accessEnds: this.now + answer.body.expires_in };
    this.begin({ kind: 'app', ...granted, name: code.name, approver: code.approver }, token);
  }

  async takeAddress(drawn: Drawn): Promise<void> {
    const { address, addresses, addressChanges: changes } = this;
    const by = await this.recent(drawn);
    const inCapitals = address.toUpperCase().replace('EXAMPLE.COM', 'example.com');
    const fresh = `${this.newName().replace(' ', '-')}-${[...addresses][0]}`;
    const email = pick([...addresses, inCapitals, fresh, fresh], drawn.nth)!;
    const send = async (path: string, json: object) =>
      expect(outcome(await this.app.ask('POST', path, { token: by.token, json }))).toBe('ok');
    await send('/me/email', { email });
    const [row] = await this.query<{ id: string; expires_at: string }>(
      `SELECT id, expires_at FROM email_changes WHERE user_id = '${this.userId}' AND voided_at IS NULL AND changed_at IS NULL`,
    );
    for (const one of changes) one.spent = true;
    const token = tokenOf(this.app, 'emailChange', row!);
    changes.push({ token, spent: drawn.isConfirmed, expires: this.now + changeTtl });
    if (!drawn.isConfirmed) return;
    await send('/me/email/verify', { token });
    this.changeAddress(email);
  }

  /** The service must have written the notices that the model says, which get links. */
  async readNotices(): Promise<void> {
    const { notices, sessions, unread } = this;
    const known = new Set(notices.map(({ id }) => id));
    const rows = await this.query<Record<'id' | 'session_id' | 'kind' | 'email' | 'expires_at', string>>(
      `SELECT * FROM notices WHERE user_id = '${this.userId}' ORDER BY ordinal`,
    );
    const added = rows.filter(({ id }) => !known.has(id));
    // The sweep forgets applications that have ended.
    const withoutApps = (kinds: readonly string[]) => kinds.filter((kind) => kind !== 'new_app');
    expect(withoutApps(added.map(({ kind }) => kind))).toEqual(withoutApps(unread.splice(0)));
    for (const row of added) {
      const { id, kind, email: to } = row;
      const session = sessions.find((one) => one.id === row.session_id)!;
      const token = tokenOf(this.app, 'notice', row);
      const fresh = { expires: Number(row.expires_at) / 1000, isSent: false, isVoid: false };
      notices.push({ began: this.next(), id, kind, session, to, token, ...fresh });
    }
  }

  async useNotice({ nth, either: approver }: Drawn): Promise<void> {
    const usable = this.notices.filter(({ isVoid }) => !isVoid || nth % 4 === 0);
    const notice = pick(usable, nth % 3 === 0 ? 0 : nth);
    if (!notice) return;
    const json = { token: notice.token, ...(approver ? { approver } : {}) };
    const answer = await this.app.ask('POST', '/notices/disown', { json });
    if (notice.isVoid || this.now >= notice.expires) {
      expect(outcome(answer)).toBe('invalid_grant');
      return;
    }
    const { body } = answer;
    expect(outcome(answer)).toBe('ok');
    expect({
      ...body,
      device_names: body.device_names.toSorted(),
      passkeys_removed: body.passkeys_removed.toSorted(),
      keys_removed: body.keys_removed.toSorted(),
      approver: body.approver?.disowned ?? null,
    }).toEqual(this.disown(notice, approver));
    await this.checkUndone();
  }

  async receiveMail(): Promise<void> {
    const { userId, around } = this;
    await this.query(
      `UPDATE outbox SET sent_at = ${around.clock.now} WHERE user_id = '${userId}' AND sent_at IS NULL`,
    );
    for (const notice of this.notices) notice.isSent = true;
  }

  /** Forwards and backwards, but never so far that a cookie, which each use extends, ends by its idle timeout. */
  leap(seconds: number): void {
    if (this.now + seconds - this.startedAt < 29 * day) this.wait(seconds);
  }

  async disable(disabled: boolean): Promise<void> {
    expect(await setDisabled(this.app.ctx, this.address, disabled)).toBe(disabled !== this.disabled);
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
    const live = this.sessions.find((one) => !this.refusalFor([one, newest(one)]));
    if (live) {
      for (const list of ['sessions', 'keys']) {
        const { body } = await this.app.ask('GET', `/${list}?limit=100`, credentialOf(newest(live)));
        const ids = idsWhere((one) => this.isActive(one) && (one.kind === 'key') === (list === 'keys'));
        expect(body[list].map(({ id }: { id: string }) => id).toSorted()).toEqual(ids);
      }
    }
    const thefts = await this.query<{ session_id: string }>(
      `SELECT session_id FROM events WHERE type = 'refresh_theft' AND user_id = '${this.userId}'`,
    );
    expect(thefts.map(({ session_id }) => session_id).toSorted()).toEqual(idsWhere(({ stolen }) => stolen));
  }

  /** One call with an earlier token of the session, and all with the newest. */
  async checkCalls(by: By, count = by[1] === by[0].tokens.at(-1) ? calls.length : 1): Promise<void> {
    const [session] = by;
    const holds = (needed: readonly string[]) =>
      holdsEverything(session) ||
      (session.resource === null && needed.some((name) => session.scopes.includes(name)));
    for (const [method, path, needed, ask] of calls.slice(0, count)) {
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
    const { access, refresh } = newest(session);
    if (access === '') return;
    for (const [index, { authorization: Authorization }] of this.around.services.entries()) {
      const isRefresh = index > 0 && refresh !== '';
      const form = { token: isRefresh ? refresh : access };
      const { body } = await this.app.ask('POST', '/introspect', { form, headers: { Authorization } });
      const isLive = isRefresh ? this.isActive(session) : this.isGood([session, newest(session)]);
      expect(body.active).toBe(isLive && !this.disabled && [null, [tickets, null][index]].includes(resource));
      if (!body.active) continue;
      expect(body.scope.split(' ').toSorted()).toEqual(scopes.toSorted());
      expect(body.aud).toBe(resource ?? undefined);
    }
  }

  /** The sweep forgets device codes an hour after they expired: until then a clock that runs backwards may bring them back. */
  async sweep(): Promise<void> {
    await this.app.sweep();
    this.devices = this.devices.filter(({ expires }) => this.now <= expires + 3600);
    await this.startDevice({ access: {}, way: 'JSON' });
  }

  /** What there is after something was undone. */
  async checkUndone(): Promise<void> {
    for (const one of this.sessions) await this.checkCalls([one, newest(one)], 1);
    const passkeys = await this.query<{ id: string }>(
      `SELECT id FROM passkeys WHERE user_id = '${this.userId}'`,
    );
    const kept = this.passkeys.filter(({ isGone }) => !isGone);
    expect(passkeys.map(({ id }) => id).toSorted()).toEqual(kept.map(({ id }) => id).toSorted());
    const users = await this.query<{ email: string }>(`SELECT email FROM users WHERE id = '${this.userId}'`);
    expect(users).toEqual([{ email: this.address }]);
  }

  /** Tries everything that is over. */
  async checkClosed(): Promise<void> {
    for (const link of this.links)
      if (link.spent) await this.useLink(link, { ...plainly, proof: 'link', place: 0 });
    for (const device of this.devices) if (device.state === 'denied') await this.poll(device, plainly);
    for (const { token, spent } of this.addressChanges) {
      const json = { token, current_email: this.address };
      if (spent) expect(outcome(await this.post('/me/email/verify', { json }))).toBe('invalid_grant');
    }
    for (const one of this.sessions) if (!this.isActive(one)) await this.refresh([one, newest(one)], plainly);
    for (const passkey of this.passkeys) if (passkey.isGone) await this.signInWithPasskey(passkey, 0);
  }
}
