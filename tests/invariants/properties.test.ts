// Random sequences of commands, checked against a small model: the guarantees of the service hold in any order, with
// any repetition, at any time. Only commands advance the clock.

import { beforeAll, expect, test } from 'bun:test';
import { deviceCodeGrantType } from '@latchkey/contract/tokens';
import { type Answer, type Ask, onBothDatabases, sharedNodes, type TestApp } from '#support/app.ts';
import { cancelDevice, type Decision, decideDevice, startDevice } from '#support/devices.ts';
import fc from '#support/fc.ts';
import { isLong } from '#support/long.ts';
import { setDisabled } from '../../packages/server/src/identity/account/account.ts';
import { readToken } from '../../packages/server/src/sessions/tokens.ts';

const runs = isLong ? 300 : 60;
const maxLength = 60;
const day = 86_400;
const [accessTtl, idleTtl, sessionTtl, deviceTtl, linkTtl] = [14_400, 30 * day, 180 * day, 600, 900];
const [leeway, refreshRetry, redeemRetry, recentSignIn] = [10, 600, 60, 900];

interface Token {
  refresh: string;
  access: string;
  accessEnds: number;
}
interface Session {
  id: string;
  kind: 'browser' | 'device';
  ended: boolean;
  stolen: boolean;
  createdAt: number;
  idleEnds: number;
  /** One per generation; only the last is unspent. */
  tokens: Token[];
  rotatedAt: number;
  key: string | undefined;
}
interface Device {
  device_code: string;
  user_code: string;
  state: 'pending' | 'approved' | 'denied' | 'redeemed' | 'cancelled';
  /** All sessions were revoked after the approval. */
  ended: boolean;
  expires: number;
  interval: number;
  lastPoll: number;
  redeemedAt: number;
  key: string | undefined;
  session: Session | undefined;
}
interface Link {
  token: string;
  request: string;
  code: string;
  spent: boolean;
  expires: number;
  attempts: number;
}

const key = fc.constantFrom(undefined, 'a', 'a', 'b');
/** An index counted from the newest item, so that recent items are picked most often. */
const which = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 2, arbitrary: fc.nat(3) });
const times = fc.constantFrom(1, 1, 3, 20);
const on = { session: which, token: which };
/** An endpoint takes JSON, and two take a form, too. */
const way = fc.constantFrom('JSON', '/token', '/refresh');
const weighted = (weight: number, arbitrary: fc.Arbitrary<Command>) => ({ weight, arbitrary });
type EndMethod = 'POST' | 'DELETE';
type Command =
  | { do: 'request a link' }
  | { do: 'use a link'; link: number; by: 'token' | 'code' | 'wrong code'; times: number }
  | { do: 'refresh'; session: number; token: number; key: string | undefined; way: string; times: number }
  | { do: 'use'; session: number; token: number }
  | { do: 'end this'; session: number; token: number; method: EndMethod }
  | { do: 'end other'; session: number; token: number; other: number }
  | { do: 'end all'; session: number; token: number; method: EndMethod }
  | { do: 'start a device' }
  | { do: 'decide'; device: number; decision: Decision; session: number; token: number }
  | { do: 'cancel'; device: number }
  | { do: 'poll'; device: number; key: string | undefined; asForm: boolean; times: number }
  | { do: 'disable' }
  | { do: 'enable' }
  | { do: 'wait'; seconds: number };
const by = fc.constantFrom('token', 'code', 'wrong code');
const method = fc.constantFrom('POST', 'DELETE');
const decision = fc.constantFrom('approve', 'approve', 'deny', 'verify');
const seconds = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(1, 4, 5, 10, 11) },
  { weight: 3, arbitrary: fc.constantFrom(60, 61, 300, 600, 601, 901) },
  { weight: 1, arbitrary: fc.constantFrom(accessTtl, 29 * day) },
);
const command = fc.oneof(
  weighted(3, fc.record({ do: fc.constant('request a link') })),
  weighted(4, fc.record({ do: fc.constant('use a link'), link: which, by, times })),
  weighted(10, fc.record({ do: fc.constant('refresh'), ...on, key, way, times })),
  weighted(1, fc.record({ do: fc.constant('use'), ...on })),
  weighted(1, fc.record({ do: fc.constantFrom('end this', 'end all'), ...on, method })),
  weighted(1, fc.record({ do: fc.constant('end other'), ...on, other: which })),
  weighted(4, fc.record({ do: fc.constant('start a device') })),
  weighted(6, fc.record({ do: fc.constant('decide'), device: which, decision, ...on })),
  weighted(2, fc.record({ do: fc.constant('cancel'), device: which })),
  weighted(10, fc.record({ do: fc.constant('poll'), device: which, key, asForm: fc.boolean(), times })),
  weighted(1, fc.record({ do: fc.constant('disable') })),
  weighted(1, fc.record({ do: fc.constant('enable') })),
  weighted(4, fc.record({ do: fc.constant('wait'), seconds })),
) as fc.Arbitrary<Command>;

const outcome = ({ status, body }: Answer): string => (status < 300 ? 'ok' : body.error);
const pick = <T>(things: readonly T[], back: number): T | undefined =>
  things.at(-(1 + (back % Math.max(things.length, 1))));

/** One account, its model, and the invariants that hold regardless of the model. */
class Run {
  readonly sessions: Session[] = [];
  readonly devices: Device[] = [];
  readonly links: Link[] = [];
  disabled = false;
  /** What each refresh token, device code and link has yielded: never two different results. */
  readonly given = new Map<string, Set<string>>();

  readonly nodes: readonly TestApp[];
  readonly clock: { now: number };
  readonly email: string;
  #turn = 0;

  constructor(nodes: readonly TestApp[], clock: { now: number }, email: string) {
    this.nodes = nodes;
    this.clock = clock;
    this.email = email;
  }

  get now() {
    return this.clock.now / 1000;
  }

  /** Each node in turn. */
  get app(): TestApp {
    return this.nodes[this.#turn++ % this.nodes.length]!;
  }

  post(path: string, ask: Pick<Ask, 'json' | 'form'>, idempotencyKey?: string): Promise<Answer> {
    const headers = idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey };
    return this.app.ask('POST', path, { ...ask, headers });
  }

  /** Sends the same request several times in parallel; `expected` are the outcomes in any order. */
  async together(times: number, send: () => Promise<Answer>, expected: string[]): Promise<Answer[]> {
    const answers = await Promise.all(Array.from({ length: times }, send));
    expect(answers.map(outcome).toSorted()).toEqual(expected.toSorted());
    return answers.filter(({ status }) => status === 200);
  }

  note(source: string, successes: readonly Answer[]): Token | undefined {
    const seen = this.given.get(source) ?? new Set();
    this.given.set(source, seen);
    for (const { body } of successes)
      seen.add(`${body.access_token} until ${this.now + body.expires_in}, ${body.refresh_token}`);
    expect(seen.size).toBeLessThanOrEqual(1);
    const body = successes[0]?.body;
    return (
      body && {
        refresh: body.refresh_token,
        access: body.access_token,
        accessEnds: this.now + body.expires_in,
      }
    );
  }

  begin(kind: Session['kind'], token: Token): Session {
    const idleEnds = this.now + idleTtl;
    const fresh = { ended: false, stolen: false, createdAt: this.now, rotatedAt: this.now, key: undefined };
    const id = readToken(this.app.ctx, token.access)!.sessionId;
    const session = { id, kind, ...fresh, idleEnds, tokens: [token] };
    this.sessions.push(session);
    return session;
  }

  isActive(session: Session): boolean {
    return !session.ended && this.now < Math.min(session.idleEnds, session.createdAt + sessionTtl);
  }

  authenticates(session: Session, token: Token): boolean {
    return !this.disabled && !session.ended && this.now < token.accessEnds;
  }

  endAll(): void {
    for (const session of this.sessions) session.ended = true;
    for (const device of this.devices) if (device.state === 'approved') device.ended = true;
  }

  async requestLink(): Promise<void> {
    // Makes it clear which of two mails is the newest.
    this.clock.now += 1000;
    const { body } = await this.post('/magic_link', { json: { email: this.email } });
    const { token, code } = (await this.app.mails()).find(({ to }) => to === this.email)!;
    const expires = this.now + linkTtl;
    this.links.push({ token, code, request: body.request, spent: false, expires, attempts: 0 });
  }

  async useLink(link: Link, by: string, times: number): Promise<void> {
    const byLink = by === 'token';
    const code = by === 'code' ? link.code : link.code === '0000-0000' ? '1111-1111' : '0000-0000';
    const expected: string[] = [];
    let signsIn = false;
    for (let i = 0; i < times; i++) {
      const open = !link.spent && !signsIn && this.now < link.expires && (byLink || link.attempts < 5);
      // A refusal rolls back the attempt, unless it is for a wrong code.
      const right = open && by !== 'wrong code';
      if (open && !byLink && !(right && this.disabled)) link.attempts += 1;
      expected.push(!right ? 'invalid_grant' : this.disabled ? 'account_disabled' : 'ok');
      if (right && !this.disabled) signsIn = true;
    }
    const json = byLink ? { token: link.token } : { request: link.request, code };
    const successes = await this.together(times, () => this.post('/magic_link/verify', { json }), expected);
    const token = this.note(link.token, successes);
    if (!token) return;
    this.begin('browser', token);
    for (const one of this.links) one.spent = true;
  }

  async refresh(session: Session, token: Token, command: Command & { do: 'refresh' }): Promise<void> {
    const { key, way, times } = command;
    const expected = Array.from({ length: times }, () => this.predictRefresh(session, token, key));
    const json = { refresh_token: token.refresh };
    const form = { grant_type: 'refresh_token', ...json };
    // Without a key, a form is repeated by other rules (sessions/refresh.test.ts).
    const isJson = way === 'JSON' || key === undefined;
    const send = () => this.post(isJson ? '/refresh' : way, isJson ? { json } : { form }, key);
    const next = this.note(token.refresh, await this.together(times, send, expected));
    if (next && token === session.tokens.at(-2) && session.tokens.at(-1)?.refresh === '') {
      session.tokens[session.tokens.length - 1] = next;
    }
  }

  predictRefresh(session: Session, token: Token, key: string | undefined): string {
    if (this.disabled) return 'account_disabled';
    if (!this.isActive(session)) return 'invalid_grant';
    if (token === session.tokens.at(-1)) {
      session.tokens.push({ refresh: '', access: '', accessEnds: 0 });
      session.rotatedAt = this.now;
      session.key = key;
      session.idleEnds = this.now + idleTtl;
      return 'ok';
    }
    const age = this.now - session.rotatedAt;
    if (token === session.tokens.at(-2)) {
      if (key !== undefined && key === session.key && age <= refreshRetry) return 'ok';
      if (age <= leeway) return 'invalid_grant';
    }
    session.ended = true;
    session.stolen = true;
    return 'invalid_grant';
  }

  async call(
    session: Session,
    token: Token,
    method: string,
    path: string,
    { wanted = 'ok', ...ask }: Ask & { wanted?: string } = {},
  ): Promise<boolean> {
    const answer = await this.app.ask(method, path, { token: token.access, ...ask });
    const expected = this.authenticates(session, token) ? wanted : 'invalid_token';
    expect(outcome(answer)).toBe(expected);
    return expected === 'ok';
  }

  async endThis(session: Session, token: Token, method: EndMethod): Promise<void> {
    const hasEnded =
      method === 'POST'
        ? this.call(session, token, 'POST', '/revoke', { json: { scope: 'session' } })
        : this.call(session, token, 'DELETE', '/logout?scope=session');
    if (await hasEnded) session.ended = true;
  }

  async endOther(session: Session, token: Token, other: Session): Promise<void> {
    const isOver = other.ended || this.now >= other.createdAt + sessionTtl;
    const wanted = isOver ? 'not_found' : 'ok';
    if (await this.call(session, token, 'DELETE', `/sessions/${other.id}`, { wanted })) other.ended = true;
  }

  async startDevice(): Promise<void> {
    const codes = { ...(await startDevice(this.app)), expires: this.now + deviceTtl };
    const fresh = { state: 'pending', ended: false, interval: 5, lastPoll: 0, redeemedAt: 0 } as const;
    this.devices.push({ ...codes, ...fresh, key: undefined, session: undefined });
  }

  async decide(device: Device, decision: Decision, session: Session, token: Token): Promise<void> {
    const recent = decision !== 'approve' || this.now - session.createdAt <= recentSignIn;
    const open = device.state === 'pending' && this.now < device.expires;
    const answer = await decideDevice(this.app, decision, device, { access_token: token.access });
    const allowed = this.authenticates(session, token);
    const sufficient = session.kind === 'browser' && recent;
    const refusal = !allowed ? 'invalid_token' : !sufficient ? 'insufficient_user_authentication' : undefined;
    expect(outcome(answer)).toBe(refusal ?? (open ? 'ok' : 'invalid_grant'));
    if (!refusal && open && decision !== 'verify')
      device.state = decision === 'approve' ? 'approved' : 'denied';
  }

  async cancel(device: Device): Promise<void> {
    expect((await cancelDevice(this.app, device)).status).toBe(200);
    if (device.session) device.session.ended = true;
    if (['pending', 'approved'].includes(device.state)) device.state = 'cancelled';
  }

  async poll(device: Device, { key, asForm, times }: Command & { do: 'poll' }): Promise<void> {
    const expected = Array.from({ length: times }, () => this.predictPoll(device, key));
    const json = { device_code: device.device_code };
    const ask = asForm ? { form: { grant_type: deviceCodeGrantType, ...json } } : { json };
    const intervals: number[] = [];
    const send = async () => {
      const answer = await this.post('/token', ask, key);
      if (outcome(answer) === 'slow_down') intervals.push(answer.body.interval);
      return answer;
    };
    const token = this.note(device.device_code, await this.together(times, send, expected));
    if (intervals.length > 0) expect(Math.max(...intervals)).toBe(device.interval);
    if (token && !device.session) device.session = this.begin('device', token);
  }

  predictPoll(device: Device, key: string | undefined): string {
    if (device.state === 'redeemed') {
      const repeated = key !== undefined && key === device.key && this.now - device.redeemedAt <= redeemRetry;
      if (!repeated) return 'invalid_grant';
      if (this.disabled) return 'account_disabled';
      const { session } = device;
      const good = !session || (this.isActive(session) && session.tokens.length === 1);
      return good ? 'ok' : 'invalid_grant';
    }
    if (device.state === 'denied') return 'access_denied';
    if (device.state === 'cancelled') return 'invalid_grant';
    if (this.now >= device.expires) return 'expired_token';
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
    if (this.sessions.length === 0) return;
    expect(await setDisabled(this.app.ctx, this.email, disabled)).toBe(disabled !== this.disabled);
    if (disabled && !this.disabled) this.endAll();
    this.disabled = disabled;
  }

  async step(command: Command): Promise<void> {
    const session = 'session' in command ? pick(this.sessions, command.session) : undefined;
    const token = session && 'token' in command ? pick(session.tokens, command.token) : undefined;
    const device = 'device' in command ? pick(this.devices, command.device) : undefined;
    const link = 'link' in command ? pick(this.links, command.link) : undefined;
    if (command.do === 'wait') this.clock.now += command.seconds * 1000;
    if (command.do === 'request a link') await this.requestLink();
    if (command.do === 'start a device') await this.startDevice();
    if (command.do === 'disable' || command.do === 'enable') await this.disable(command.do === 'disable');
    if (command.do === 'use a link' && link) await this.useLink(link, command.by, command.times);
    if (command.do === 'poll' && device) await this.poll(device, command);
    if (command.do === 'cancel' && device) await this.cancel(device);
    if (!session || !token) return;
    if (command.do === 'refresh') await this.refresh(session, token, command);
    if (command.do === 'use') await this.call(session, token, 'GET', '/me');
    if (command.do === 'end this') await this.endThis(session, token, command.method);
    if (command.do === 'end other') await this.endOther(session, token, pick(this.sessions, command.other)!);
    if (command.do === 'end all') {
      const path = command.method === 'POST' ? '/revoke' : '/logout';
      if (await this.call(session, token, command.method, path)) this.endAll();
    }
    if (command.do === 'decide' && device) await this.decide(device, command.decision, session, token);
  }

  /**
   * At the end, every token ever issued must be accepted or refused as its session in the model demands, the list must hold the
   * active sessions, and the log every theft, once.
   */
  async checkAll(): Promise<void> {
    for (const session of this.sessions)
      for (const token of session.tokens) await this.call(session, token, 'GET', '/me');
    const idsWhere = (holds: (session: Session) => boolean) =>
      this.sessions
        .filter(holds)
        .map(({ id }) => id)
        .toSorted();
    const live = this.sessions.find((session) => this.authenticates(session, session.tokens.at(-1)!));
    if (live) {
      const { body } = await this.app.ask('GET', '/sessions?limit=100', {
        token: live.tokens.at(-1)!.access,
      });
      const listed = body.sessions.map(({ id }: { id: string }) => id);
      expect(listed.toSorted()).toEqual(idsWhere((session) => this.isActive(session)));
    }
    const thefts = await this.app.ctx.db.read.run<{ session_id: string }>(
      `SELECT session_id FROM events e JOIN users u ON u.id = e.user_id
       WHERE type = 'refresh_theft' AND email = '${this.email}'`,
      [],
    );
    expect(thefts.map(({ session_id }) => session_id).toSorted()).toEqual(idsWhere(({ stolen }) => stolen));
  }
}

onBothDatabases('any sequence of commands', (open, dialect) => {
  const { app, node } = sharedNodes(open, dialect);
  const nodes = [...new Set([app, node])];
  const clock = { now: 0 };
  let people = 0;
  beforeAll(async () => {
    clock.now = app.ctx.clock();
    for (const { ctx } of nodes) Object.assign(ctx, { clock: () => clock.now });
  });

  test('in any sequence of commands, no token, code or link has a second effect, and no ended session works again', async () => {
    const property = fc.asyncProperty(
      fc.array(command, { minLength: 20, maxLength, size: 'max' }),
      async (rest) => {
        const run = new Run(nodes, clock, `person-${people++}@example.com`);
        await run.step({ do: 'request a link' });
        await run.step({ do: 'use a link', link: 0, by: 'token', times: 1 });
        for (const one of rest) await run.step(one);
        await run.checkAll();
      },
    );
    await fc.assert(property, { numRuns: runs });
  });
});
