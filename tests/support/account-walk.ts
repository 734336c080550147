// What people and programs do with an account, on any of the nodes, with its model beside it.

import { expect } from 'bun:test';
import { readHandle } from '../../packages/server/src/platform/crypto/handle.ts';
import { emailKeyOf } from '../../packages/server/src/platform/values/email-key.ts';
import { sessionIdOf } from '../../packages/server/src/sessions/tokens.ts';
import { outcome, sameOrigin, sessionCookieIn } from './account.ts';
import { day, type Login, Model, type Notice, type Open, type Passkey } from './account-model.ts';
import { linkFor, tokenOf } from './account-scene.ts';
import type { Answer, TestApp } from './app.ts';
import { codeFor, redeem, requestOf } from './authorize.ts';
import { startDevice } from './devices.ts';
import type { TestService } from './services.ts';

const placeOf = (place: number) => ({
  peer: `198.51.${place}.7`,
  headers: { 'User-Agent': `Browser ${'ABCD'[place]}` },
});

export class Walk {
  readonly nodes: readonly TestApp[];
  readonly service: TestService;
  readonly model: Model;
  readonly name: string;
  userId = '';
  /** In seconds. Access tokens live longer. */
  elapsed = 0;
  /** Whatever was ever open. */
  readonly #everOpen: Open[] = [];
  #turn = 0;
  #names = 0;

  constructor(nodes: readonly TestApp[], service: Walk['service'], name: string) {
    this.nodes = nodes;
    this.service = service;
    this.name = name;
    this.model = new Model(`${name}@example.com`);
  }

  /** Any of the nodes. */
  get app(): TestApp {
    return this.nodes[this.#turn++ % this.nodes.length]!;
  }

  get now(): number {
    return this.nodes[0]!.ctx.clock();
  }

  newName = (): string => `thing ${++this.#names}`;

  newAddress = (): string => `${this.name}-${++this.#names}@example.com`;

  run = <Row>(statement: string): Promise<Row[]> => this.app.ctx.db.single.run<Row>(statement, []);

  pick<T>(from: readonly T[], choice: number): T | undefined {
    return from[choice % Math.max(1, from.length)];
  }

  liveOf(...kinds: Login['kind'][]): Login[] {
    return this.model.logins.filter((one) => kinds.includes(one.kind) && this.model.isLive(one, this.now));
  }

  ask(login: Login, method: string, path: string, json?: object): Promise<Answer> {
    return this.app.ask(method, path, { ...login.credential, ...(json === undefined ? {} : { json }) });
  }

  /** Adds a login to the list, and the notices that the service has written meanwhile. */
  async begin(
    kind: Login['kind'],
    secret: { readonly token: string } | { readonly cookie: string },
    more: Partial<Login> = {},
  ): Promise<Login> {
    const { keys } = this.app.ctx;
    const handle =
      'cookie' in secret
        ? readHandle(keys, 'browserSession', secret.cookie.split('=')[1]!)
        : readHandle(keys, kind === 'key' ? 'accessKey' : 'accessToken', secret.token);
    const id = sessionIdOf(handle!.subject, kind === 'key' ? 'key_' : undefined);
    const credential = 'cookie' in secret ? { ...secret, headers: sameOrigin } : secret;
    const state = { hasEnded: false, isUndone: false, isStolen: false };
    const login: Login = {
      ...{ at: this.model.next(), id, kind, credential, name: '', endsAt: Number.POSITIVE_INFINITY },
      ...state,
      ...more,
    };
    this.model.logins.push(login);
    await this.readNotices();
    return login;
  }

  /** Adds new notices to the list. */
  async readNotices(): Promise<Notice[]> {
    const known = new Set(this.model.notices.map(({ id }) => id));
    const rows = await this.run<Record<'id' | 'session_id' | 'kind' | 'email' | 'expires_at', string>>(
      `SELECT * FROM notices WHERE user_id = '${this.userId}' ORDER BY ordinal`,
    );
    const added = rows
      .filter(({ id }) => !known.has(id))
      .map((row): Notice => {
        const { id, kind, email: to } = row;
        const login = this.model.logins.find(({ id }) => id === row.session_id)!;
        const token = tokenOf(this.app, 'notice', row);
        return { at: this.model.next(), id, token, kind, login, to, isSent: false, isVoid: false };
      });
    this.model.notices.push(...added);
    return added;
  }

  /** Reads the new notices, of which there is one of this kind, or none. */
  async expectNotice(kind: string, isExpected = true): Promise<void> {
    const kinds = (await this.readNotices()).map((notice) => notice.kind);
    expect(kinds).toEqual(isExpected ? [kind] : []);
  }

  /** Adds something open to the list. */
  begun(open: Open): Open {
    this.model.open.push(open);
    this.#everOpen.push(open);
    return open;
  }

  async openSignIn(): Promise<Open> {
    const { address: to } = this.model;
    const { token: secret } = await linkFor(this.app, to);
    return this.begun({ kind: 'sign_in', name: '', secret, to, endsAt: this.now + day * 1000 });
  }

  async signIn(place: number, replaced?: Login): Promise<void> {
    const { secret } = await this.openSignIn();
    const key = emailKeyOf(this.model.address);
    const isFirst = this.model.logins.length === 0;
    const from = placeOf(place);
    const inCookie = replaced !== undefined;
    const cookie = replaced && 'cookie' in replaced.credential ? replaced.credential.cookie : undefined;
    const answer = await this.app.ask('POST', `/magic_link/verify${inCookie ? '?session=cookie' : ''}`, {
      json: { token: secret },
      peer: from.peer,
      headers: { ...from.headers, ...(inCookie ? sameOrigin : {}) },
      ...(cookie === undefined ? {} : { cookie }),
    });
    expect(outcome(answer)).toBe('200');
    this.model.open = this.model.open.filter(({ kind, to }) => kind !== 'sign_in' || emailKeyOf(to!) !== key);
    if (isFirst) {
      const [user] = await this.run<{ id: string }>(`SELECT id FROM users WHERE email_key = '${key}'`);
      this.userId = user!.id;
    }
    const isNew = !isFirst && !this.model.isKnown(place);
    const notices = await this.beginBrowser(answer, place, cookie === undefined ? undefined : replaced);
    expect(notices).toEqual(isNew ? ['new_browser'] : []);
  }

  /** Adds a login in a browser to the list; returns the kinds of its notices. */
  async beginBrowser(answer: Answer, place: number, replaced?: Login, passkey?: Passkey): Promise<string[]> {
    const cookie = sessionCookieIn(answer);
    const secret = cookie === '' ? { token: answer.body.access_token as string } : { cookie };
    const refreshToken = answer.body.refresh_token as string | undefined;
    const before = this.model.notices.length;
    const login = await this.begin('browser', secret, { place, passkey, refreshToken });
    if (replaced && this.model.isLive(replaced, this.now)) {
      replaced.hasEnded = true;
      for (const run of this.model.logins) if (run.within === replaced) run.within = login;
    }
    return this.model.notices.slice(before).map(({ kind }) => kind);
  }

  async signInWithPasskey(passkey: Passkey, place: number): Promise<void> {
    const { body } = await this.app.ask('POST', '/passkey/login/challenge');
    const json = passkey.authenticator.get(body);
    const answer = await this.app.ask('POST', '/passkey/login', { json, ...placeOf(place) });
    expect(outcome(answer)).toBe(passkey.isGone ? '400 unknown_credential' : '200');
    if (passkey.isGone) return;
    const isNew = !this.model.isKnown(place);
    const notices = await this.beginBrowser(answer, place, undefined, passkey);
    expect(notices).toEqual(isNew ? ['new_browser'] : []);
  }

  async approveDevice(by: Login): Promise<Open> {
    const name = this.newName();
    const { device_code: secret, user_code } = await startDevice(this.app, { device_name: name });
    expect(outcome(await this.ask(by, 'POST', '/device/approve', { user_code }))).toBe('204');
    return this.begun({ kind: 'device', name, secret, by, endsAt: this.now + day * 1000 });
  }

  async approveApp(by: Login): Promise<Open | undefined> {
    if (!('token' in by.credential)) return undefined;
    const secret = await codeFor(this.app, { access_token: by.credential.token }, requestOf(this.service.id));
    return this.begun({ kind: 'app', name: 'a service', secret, by, endsAt: this.now + 60_000 });
  }

  async fetch(open: Open): Promise<void> {
    const { kind, secret, by: approver } = open;
    const answer =
      kind === 'device'
        ? await this.app.ask('POST', '/token', { json: { device_code: secret } })
        : await redeem(this.app, secret, {}, { headers: { Authorization: this.service.authorization } });
    this.model.open = this.model.open.filter((one) => one !== open);
    const isGood = kind === 'device' || this.model.isLive(approver!, this.now);
    if (this.now >= open.endsAt || !isGood) return expect(answer.status).toBe(400);
    expect(outcome(answer)).toBe('200');
    const { name } = open;
    const more = { approver, name, refreshToken: kind === 'device' ? answer.body.refresh_token : undefined };
    await this.begin(kind as 'device' | 'app', { token: answer.body.access_token }, more);
  }

  async openChange(by: Login, email: string): Promise<Open> {
    expect(outcome(await this.ask(by, 'POST', '/me/email', { email }))).toBe('202');
    const [row] = await this.run<{ id: string; expires_at: string }>(
      `SELECT id, expires_at FROM email_changes WHERE user_id = '${this.userId}' AND voided_at IS NULL AND changed_at IS NULL`,
    );
    const secret = tokenOf(this.app, 'emailChange', row!);
    this.model.open = this.model.open.filter(({ kind }) => kind !== 'change');
    return this.begun({ kind: 'change', name: '', secret, by, to: email, endsAt: Number(row!.expires_at) });
  }

  async changeAddress(by: Login, email: string): Promise<void> {
    const open = await this.openChange(by, email);
    expect(outcome(await this.ask(by, 'POST', '/me/email/verify', { token: open.secret }))).toBe('200');
    const { model } = this;
    model.open = model.open.filter((one) => one !== open);
    model.changes.push({ at: model.next(), from: model.address, time: this.now });
    const isOther = model.address !== email;
    model.address = email;
    model.addresses.add(email);
    await this.expectNotice('email_changed', isOther);
  }

  async use(notice: Notice, approver: boolean): Promise<void> {
    const { model, now } = this;
    const json = { token: notice.token, ...(approver ? { approver } : {}) };
    const answer = await this.app.ask('POST', '/notices/disown', { json });
    if (notice.isVoid || now >= readHandle(this.app.ctx.keys, 'notice', notice.token)!.value) {
      expect(outcome(answer)).toBe('400 invalid_grant');
      return;
    }
    const expected = model.use(notice, approver, now);
    const { body } = answer;
    const by = notice.login.approver;
    expect(outcome(answer)).toBe('200');
    expect({
      ...body,
      device_names: body.device_names.toSorted(),
      passkeys_removed: body.passkeys_removed.toSorted(),
      keys_removed: body.keys_removed.toSorted(),
      approver: body.approver?.disowned ?? null,
    }).toEqual({ kind: notice.kind, ...expected, approver: by ? by.isUndone : null });
    await this.readNotices();
    await this.look();
  }

  /** Compares what there is with the list. */
  async look(): Promise<void> {
    const { model, now } = this;
    for (const login of model.logins) {
      const { status } = await this.ask(login, 'GET', '/me');
      const { kind, at } = login;
      expect([kind, at, status === 401]).toEqual([kind, at, !model.isLive(login, now)]);
    }
    const passkeys = await this.run<{ id: string }>(
      `SELECT id FROM passkeys WHERE user_id = '${this.userId}'`,
    );
    const idsOf = (list: readonly { readonly id: string }[]) => list.map(({ id }) => id).toSorted();
    expect(idsOf(passkeys)).toEqual(idsOf(model.keptPasskeys));
    const [user] = await this.run<{ email: string }>(`SELECT email FROM users WHERE id = '${this.userId}'`);
    expect(user!.email).toBe(model.address);
  }

  /** Tries whatever may be open, at the end of the walk. */
  async tryDoors(): Promise<void> {
    const { model } = this;
    await this.look();
    for (const open of this.#everOpen) {
      if (model.open.includes(open)) continue;
      const asks = {
        device: () => this.app.ask('POST', '/token', { json: { device_code: open.secret } }),
        app: async () => ({ status: 400 }),
        sign_in: () => this.app.ask('POST', '/magic_link/verify', { json: { token: open.secret } }),
        change: () =>
          this.app.ask('POST', '/me/email/verify', {
            json: { token: open.secret, current_email: model.address },
          }),
      };
      expect([open.kind, (await asks[open.kind]()).status]).toEqual([open.kind, 400]);
    }
    for (const { refreshToken, ...login } of model.logins) {
      if (refreshToken === undefined || model.isLive(login as Login, this.now)) continue;
      const refused = await this.app.ask('POST', '/refresh', { json: { refresh_token: refreshToken } });
      expect(outcome(refused)).toBe('400 invalid_grant');
    }
    for (const passkey of model.passkeys) if (passkey.isGone) await this.signInWithPasskey(passkey, 0);
  }
}
