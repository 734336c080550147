// People who sign in, let programs and services work for them in runs, and end some of it at random moments.

import type { Api } from '@latchkey/client/api';
import { newIdempotencyKey } from '@latchkey/client/credentials';
import { startDeviceLogin } from '@latchkey/client/device-login';
import { operations } from '@latchkey/client/operations';
import type { IssuedToken, TokenSet } from '@latchkey/contract/tokens';
import { linkTokenIn, type MailboxMail } from '../support/http.ts';
import type { Random } from '../support/random.ts';
import { accessTokenType } from '../support/runs.ts';
import { basic } from '../support/services.ts';
import { type Cluster, isRefusal } from './cluster.ts';
import type { StartedSession } from './history.ts';
import type { Recorder } from './recorder.ts';

/** A session or run with its tokens. */
export interface Held {
  readonly session: StartedSession;
  readonly kind: 'browser' | 'device' | 'run';
  token: string;
  refreshToken: string | undefined;
  /** Spent before the current one: presenting it again is a theft. */
  spentToken?: string;
  /** The key of a refresh whose answer has not arrived. */
  idempotencyKey?: string;
  /** Whether a service acts in it, which then has to authenticate to refresh it. */
  readonly isActed: boolean;
}

export interface World {
  readonly cluster: Cluster;
  readonly recorder: Recorder;
  readonly random: Random;
  /** What the sessions and accounts of the history are called on the wire. */
  readonly sessionIds: Map<string, number>;
  readonly userIds: Map<string, number>;
}

const maxDevices = 2;
const maxHeld = 10;
const maxDepth = 3;
const mailDeadlineMs = 3_000;
const mailPollMs = 25;
const devicePollMs = 20;
const deviceDeadlineMs = 5_000;

let accounts = 0;

/** The owner of one account after the other: a deleted one is followed by a new one. */
export class Person {
  readonly world: World;
  account = 0;
  email = '';
  browser: Held | undefined;
  held: Held[] = [];
  readonly #usedLinks = new Set<string>();

  constructor(world: World) {
    this.world = world;
    this.startAnew();
  }

  /** Goes on with a new account. */
  startAnew(): void {
    this.account = ++accounts;
    this.email = `p${this.account}@example.com`;
    this.forgetAll();
  }

  forgetAll(): void {
    this.browser = undefined;
    this.held = [];
  }

  /** Forgets a session and what is within it. */
  forget({ session: { id } }: Held): void {
    this.held = this.held.filter(({ session }) => !session.path.includes(id));
    if (this.browser?.session.id === id) this.browser = undefined;
  }

  /** The SDK against a random node. */
  get api(): Api {
    return this.world.cluster.api(this.world.random.below(3));
  }

  async signIn(): Promise<void> {
    const { recorder, userIds } = this.world;
    const { api, account } = this;
    await api.call('requestMagicLink', { body: { email: this.email } });
    const token = await this.#link(api);
    const sentAt = recorder.now();
    const tokens = (await api.call('verifyMagicLink', { body: { token } })) as TokenSet;
    const held = this.#hold('browser', recorder.started(account, [], sentAt), tokens);
    const { id } = await api.call('getProfile', { accessToken: tokens.access_token });
    userIds.set(id, account);
    this.browser = held;
  }

  async #link(api: Api): Promise<string> {
    const deadline = Date.now() + mailDeadlineMs;
    while (Date.now() < deadline) {
      const response = await fetch(`${api.server}/dev/mailbox.json`);
      const { messages } = (await response.json()) as { messages: MailboxMail[] };
      const links = messages.filter(({ to }) => to === this.email).map(linkTokenIn);
      const link = links.find((token) => token !== '' && !this.#usedLinks.has(token));
      if (link !== undefined) {
        this.#usedLinks.add(link);
        return link;
      }
      await Bun.sleep(mailPollMs);
    }
    throw new Error(`no mail to ${this.email}`);
  }

  /** Signs a device in, starts a run or refreshes a session, at random. */
  async work(): Promise<void> {
    const { random } = this.world;
    const { browser, held } = this;
    if (!browser) return;
    const devices = held.filter(({ kind }) => kind === 'device').length;
    if (devices < maxDevices) return this.#signInDevice(browser);
    const refreshable = held.filter(({ refreshToken }) => refreshToken !== undefined);
    const parents = held.filter(({ session }) => session.path.length <= maxDepth);
    if (held.length >= maxHeld || random.oneIn(3)) {
      if (refreshable.length > 0) await this.#refresh(random.pick(refreshable));
      return;
    }
    // The last ones, so that trees become deep.
    await this.#startRun(random.oneIn(2) ? parents.at(-1)! : random.pick(parents));
  }

  /** Signs a device in and starts runs within each other, as deep as they can be. */
  async growTree(): Promise<void> {
    if (this.browser) await this.#signInDevice(this.browser);
    for (let depth = 1; depth <= maxDepth; depth++) await this.#startRun(this.held.at(-1)!);
  }

  async #signInDevice({ token: accessToken }: Held): Promise<void> {
    const { recorder } = this.world;
    const { api, account } = this;
    const clock = { now: Date.now, sleep: () => Bun.sleep(devicePollMs) };
    const login = await startDeviceLogin(api, { clock });
    await api.call('approveDevice', { accessToken, body: { user_code: login.userCode } });
    const sentAt = recorder.now();
    const tokens = await login.tokens({ signal: AbortSignal.timeout(deviceDeadlineMs) });
    this.#hold('device', recorder.started(account, [], sentAt), tokens);
  }

  async #startRun(parent: Held): Promise<void> {
    const { recorder, random } = this.world;
    const isActed = random.oneIn(2);
    const form = {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: parent.token,
      subject_token_type: accessTokenType,
      scope: 'profile',
    };
    const sentAt = recorder.now();
    const issued = await this.#useToken<IssuedToken>(parent, form, isActed);
    if (!issued) return;
    const session = recorder.started(parent.session.account, parent.session.path, sentAt);
    this.#hold('run', session, issued, isActed || parent.isActed);
  }

  async #refresh(held: Held): Promise<void> {
    const { refreshToken } = held;
    if (refreshToken === undefined) return;
    held.idempotencyKey ??= newIdempotencyKey();
    const tokens = await this.sendRefresh(held, refreshToken, held.idempotencyKey);
    if (!tokens) return;
    this.world.recorder.count('operations', 'refresh');
    held.token = tokens.access_token;
    held.spentToken = refreshToken;
    held.refreshToken = tokens.refresh_token;
    delete held.idempotencyKey;
    this.world.recorder.issued(held.session, tokens.access_token);
  }

  /** Presents a refresh token; undefined if it is refused. */
  sendRefresh(held: Held, refresh_token: string, key: string): Promise<TokenSet | undefined> {
    const form = { grant_type: 'refresh_token', refresh_token };
    return this.#useToken<TokenSet>(held, form, held.isActed, { 'Idempotency-Key': key });
  }

  /** Sends a request to the token endpoint; forgets the session if its token is refused. */
  async #useToken<T>(
    held: Held,
    form: Record<string, string>,
    asService: boolean,
    headers: Record<string, string> = {},
  ): Promise<T | undefined> {
    const authorization = { Authorization: basic(this.world.cluster.serviceKey) };
    try {
      const { body } = await this.api.send(operations.issueToken.path, {
        method: 'POST',
        headers: { ...headers, ...(asService ? authorization : {}) },
        body: new URLSearchParams(form),
      });
      return body as T;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      this.forget(held);
      return undefined;
    }
  }

  #hold(
    kind: Held['kind'],
    session: StartedSession,
    tokens: { readonly access_token: string; readonly refresh_token?: string | undefined },
    isActed = false,
  ): Held {
    const { access_token: token, refresh_token: refreshToken } = tokens;
    const held: Held = { session, kind, token, refreshToken, isActed };
    this.world.recorder.issued(session, token);
    // An end of all sessions may have come first.
    if (session.account === this.account) this.held.push(held);
    void this.idOf(held).catch(() => undefined);
    return held;
  }

  /** The id of a session on the wire; undefined if it has ended. */
  async idOf({ session, token }: Held): Promise<string | undefined> {
    const { cluster, sessionIds } = this.world;
    const { body } = await this.api.send(operations.introspect.path, {
      method: 'POST',
      headers: { Authorization: basic(cluster.serviceKey) },
      body: new URLSearchParams({ token }),
    });
    const { sid } = body as { sid?: string };
    if (sid !== undefined) sessionIds.set(sid, session.id);
    return sid;
  }
}
