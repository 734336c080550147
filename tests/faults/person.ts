// A person with one account, who signs in, changes the profile, and ends sessions. Repeats what got no answer, and presents
// some things twice on purpose.

import type { Api, CallInput } from '@latchkey/client/api';
import { newIdempotencyKey } from '@latchkey/client/credentials';
import { type Answer, type OperationId, operations } from '@latchkey/client/operations';
import type { IssuedToken, TokenSet } from '@latchkey/contract/tokens';
import { type Authenticator, createAuthenticator } from '#support/authenticator.ts';
import { exchangeForm } from '#support/http.ts';
import type { End, StartedSession } from './history.ts';
import { findMail, mailIdOf } from './mails.ts';
import type { LiveToken } from './recorder.ts';
import { origin } from './site.ts';
import { type Asked, anyAddress, ask, askWith, requestMail, type World } from './world.ts';

/** A session with its tokens. */
interface Held {
  readonly session: StartedSession;
  token: LiveToken;
  refreshToken: string;
}

const maxDevices = 3;
const maxDepth = 3;
const maxTries = 4;
const retryPauseMs = 250;
const mailDeadlineMs = 20_000;
const mailPollMs = 30;

/** Refusals of what works once. That a decision is pending or a passkey unknown would mean that it is lost. */
const refusals = new Set(['invalid_grant', 'authorization_pending', 'unknown_credential']);

let accounts = 0;
let assertions = 0;

export class Person {
  readonly #world: World;
  readonly #address: string;
  #account = 0;
  #email = '';
  #browser: Held | undefined;
  #devices: Held[] = [];
  #authenticator: Authenticator | undefined;
  #version = 0;

  constructor(world: World) {
    this.#world = world;
    this.#address = anyAddress(world.random);
    this.#startAnew();
  }

  /** Goes on with a new account. */
  #startAnew(): void {
    this.#account = ++accounts;
    this.#email = `p${this.#account}@example.com`;
    this.#version = 0;
    this.#authenticator = undefined;
    this.#forgetAll();
  }

  #forgetAll(): void {
    this.#browser = undefined;
    this.#devices = [];
  }

  #forget(held: Held): void {
    this.#devices = this.#devices.filter((other) => other !== held);
    if (this.#browser === held) this.#browser = undefined;
  }

  /** The token of the browser's session, for what a guesser tries. */
  get token(): LiveToken | undefined {
    return this.#browser?.token;
  }

  /** Does one thing. */
  async act(): Promise<void> {
    const { random } = this.#world;
    if (!this.#browser) return this.#authenticator && random.oneIn(2) ? this.#usePasskey() : this.signIn();
    const browser = this.#browser;
    const held = random.pick([browser, ...this.#devices]);
    const chances: readonly (readonly [weight: number, action: () => Promise<void>])[] = [
      [this.#devices.length < maxDevices ? 4 : 0, () => this.#signInDevice(browser)],
      this.#authenticator ? [2, () => this.#usePasskey()] : [1, () => this.#addPasskey(browser)],
      [6, () => this.#refresh(held)],
      [3, () => this.#startRuns(held.token)],
      [2, () => this.#race(held)],
      [5, () => this.#write(held)],
      [5, () => this.#read(held)],
      [2, () => this.#endOne(held)],
      [1, () => this.#endAll(held)],
    ];
    let rest = random.below(chances.reduce((sum, [weight]) => sum + weight, 0));
    for (const [weight, action] of chances) {
      if (rest < weight) return action();
      rest -= weight;
    }
  }

  #ask<T>(kind: string, send: (api: Api) => Promise<T>): Promise<Asked<T>> {
    return ask(this.#world, kind, send, this.#address);
  }

  /** Calls an operation with an access token, and forgets the session if that is refused. */
  async #call<Id extends OperationId>(
    held: Held,
    kind: string,
    id: Id,
    input: CallInput<Id> = {},
  ): Promise<Asked<Answer<Id>>> {
    const asked = await askWith(this.#world, held.token, kind, id, input, this.#address);
    if (asked.code === 'invalid_token') this.#forget(held);
    return asked;
  }

  /** Requests an email and uses its link or its code. */
  async signIn(): Promise<void> {
    const { random } = this.#world;
    const { id, code, result } = await requestMail(this.#world, this.#email);
    if (code === 'rate_limited') return this.#startAnew();
    const mail = id && (await this.#mail(id));
    if (!mail || !result) return;
    const byCode = random.oneIn(3);
    const body = byCode ? { request: result.request, code: mail.code } : { token: mail.token };
    const redeemed = { kind: byCode ? 'email code' : 'link', credential: `mail ${id}`, group: this.#email };
    const clients = mail.copies > 1 || random.oneIn(4) ? 2 : 1;
    const sessions = await this.#redeem({ ...redeemed, clients }, (api) =>
      api.call('verifyMagicLink', { body }),
    );
    this.#browser = sessions[0];
  }

  async #mail(id: string) {
    const deadline = Date.now() + mailDeadlineMs;
    while (Date.now() < deadline && !this.#world.isOver) {
      const mail = findMail(this.#world.site.smtp.messages, this.#email, id);
      if (mail) return mail;
      await Bun.sleep(mailPollMs);
    }
    return undefined;
  }

  /**
   * Lets this many clients redeem one credential at the same time, at random nodes, and again while there is no answer.
   * Returns the sessions that started.
   */
  async #redeem(
    {
      kind,
      credential,
      group = credential,
      clients,
      hasKeys = false,
    }: {
      readonly kind: string;
      readonly credential: string;
      readonly group?: string;
      readonly clients: number;
      readonly hasKeys?: boolean;
    },
    send: (api: Api, idempotencyKey: string) => Promise<unknown>,
  ): Promise<Held[]> {
    const account = this.#account;
    const client = async (): Promise<Held[]> => {
      const idempotencyKey = hasKeys ? newIdempotencyKey() : undefined;
      for (let tries = 0; tries < maxTries && !this.#world.isOver; tries++) {
        const { result, ...asked } = await this.#ask(kind, (api) => send(api, idempotencyKey ?? ''));
        // Any other refusal is not about the credential.
        if (asked.outcome === 'refused' && !refusals.has(asked.code ?? '')) return [];
        const tokens = result as TokenSet | undefined;
        this.#world.recorder.redemptions.push({
          ...{ ...asked, credential, group, idempotencyKey, result: tokens?.refresh_token },
        });
        if (tokens) return [this.#hold(account, asked.sentAt, tokens)];
        if (asked.outcome === 'refused') return [];
        await Bun.sleep(retryPauseMs);
      }
      return [];
    };
    return (await Promise.all(Array.from({ length: clients }, client))).flat();
  }

  #hold(account: number, sentAt: number, { access_token, refresh_token: refreshToken }: TokenSet): Held {
    const { recorder } = this.#world;
    const session = recorder.started(account, [], sentAt);
    return { session, token: recorder.issued(session, access_token), refreshToken };
  }

  async #signInDevice(browser: Held): Promise<void> {
    const started = await ask(this.#world, 'device start', (api) =>
      api.call('startDeviceAuthorization', { body: {} }),
    );
    if (!started.result) return;
    const { device_code, user_code } = started.result;
    const approved = await this.#call(browser, 'device approve', 'approveDevice', { body: { user_code } });
    if (approved.outcome !== 'done') return;
    const credential = `device code of ${mailIdOf(device_code)}`;
    const clients = this.#world.random.oneIn(4) ? 2 : 1;
    const sessions = await this.#redeem(
      { kind: 'device poll', credential, clients, hasKeys: true },
      (api, key) => api.call('issueToken', { body: { device_code }, headers: { 'Idempotency-Key': key } }),
    );
    this.#devices.push(...sessions);
  }

  /** Starts a run, and sometimes a nested one. Only services verify their tokens. */
  async #startRuns({ session: parent, text }: LiveToken): Promise<void> {
    const { recorder, random } = this.#world;
    const body = new URLSearchParams(exchangeForm(text, 'profile'));
    const { result, sentAt } = await this.#ask('run', (api) =>
      api.send(operations.issueToken.path, { method: 'POST', body }),
    );
    if (!result) return;
    const session = recorder.started(parent.account, parent.path, sentAt);
    const token = recorder.issued(session, (result.body as IssuedToken).access_token);
    if (session.path.length <= maxDepth && random.oneIn(2)) await this.#startRuns(token);
  }

  async #addPasskey(browser: Held): Promise<void> {
    const options = await this.#call(browser, 'passkey options', 'startPasskeyRegistration');
    if (!options.result) return;
    const authenticator = createAuthenticator({ origin });
    const body = authenticator.create(options.result);
    const added = await this.#call(browser, 'passkey', 'registerPasskey', { body });
    if (added.outcome === 'done') this.#authenticator = authenticator;
  }

  async #usePasskey(): Promise<void> {
    const challenge = await this.#ask('passkey challenge', (api) => api.call('startPasskeyLogin'));
    if (!challenge.result) return;
    const body = this.#authenticator!.get(challenge.result);
    const credential = `assertion ${++assertions}`;
    const clients = this.#world.random.oneIn(3) ? 2 : 1;
    const sessions = await this.#redeem({ kind: 'passkey sign-in', credential, clients }, (api) =>
      api.call('loginWithPasskey', { body }),
    );
    if (this.#browser) this.#devices.push(...sessions.slice(0, maxDevices - this.#devices.length));
    else this.#browser = sessions[0];
  }

  /** Sends a refresh token with a key. */
  async #sendRefresh(held: Held, idempotencyKey: string): Promise<Asked<TokenSet>> {
    const { refreshToken } = held;
    const asked = await this.#ask('refresh', (api) =>
      api.call('refresh', {
        body: { refresh_token: refreshToken },
        headers: { 'Idempotency-Key': idempotencyKey },
      }),
    );
    const credential = `refresh token ${refreshToken}`;
    const { result: tokens, ...seen } = asked;
    this.#world.recorder.redemptions.push({
      ...{ ...seen, credential, group: undefined, idempotencyKey, result: tokens?.refresh_token },
    });
    if (tokens) this.#verified(held, asked, true);
    return asked;
  }

  #verified({ session }: Held, { node: name, sentAt, endedAt }: Asked<unknown>, isAccepted: boolean): void {
    const verification = { by: 'node', name, session: session.id, sentAt, endedAt, isAccepted } as const;
    this.#world.recorder.verifications.push(verification);
  }

  #adopt(held: Held, tokens: TokenSet): void {
    held.refreshToken = tokens.refresh_token;
    held.token = this.#world.recorder.issued(held.session, tokens.access_token);
  }

  /** Refreshes as programs do: with one key until there is an answer. */
  async #refresh(held: Held): Promise<void> {
    const key = newIdempotencyKey();
    for (;;) {
      const asked = await this.#sendRefresh(held, key);
      if (asked.result) return this.#adopt(held, asked.result);
      if (asked.code === 'invalid_grant') this.#verified(held, asked, false);
      if (asked.code === 'invalid_grant' || this.#world.isOver) return this.#forget(held);
      await Bun.sleep(retryPauseMs);
    }
  }

  /** Two programs refresh with the same token and keys of their own, which only one may succeed with. */
  async #race(held: Held): Promise<void> {
    const answers = await Promise.all([1, 2].map(() => this.#sendRefresh(held, newIdempotencyKey())));
    const winner = answers.find(({ result }) => result !== undefined);
    const unanswered = answers.find(({ outcome }) => outcome === 'unknown');
    if (answers.every(({ code }) => code === 'invalid_grant')) {
      this.#verified(held, answers[0]!, false);
      this.#forget(held);
    } else if (unanswered) {
      // What comes late may count as a theft and end the session.
      this.#forget(held);
      this.#ended('theft', held.session, unanswered);
    } else if (winner?.result) this.#adopt(held, winner.result);
  }

  async #write(held: Held): Promise<void> {
    const [account, version] = [this.#account, ++this.#version];
    const { sentAt, endedAt, outcome } = await this.#call(held, 'profile change', 'updateProfile', {
      body: { name: `name ${version}` },
    });
    this.#world.recorder.writes.push({ account, version, sentAt, endedAt, outcome });
  }

  async #read(held: Held): Promise<void> {
    const account = this.#account;
    const { sentAt, endedAt, node, result } = await this.#call(held, 'profile', 'getProfile');
    if (!result) return;
    const version = Number(/^name (\d+)$/.exec(result.name ?? '')?.[1] ?? 0);
    this.#world.recorder.reads.push({ account, version, node, sentAt, endedAt });
  }

  #ended(how: End['how'], { account, id }: StartedSession, asked: Asked<unknown>): void {
    const { sentAt, endedAt, outcome } = asked;
    const session = how === 'all' ? undefined : id;
    this.#world.recorder.ended({ how, account, session, sentAt, endedAt, outcome });
  }

  async #endOne(held: Held): Promise<void> {
    this.#forget(held);
    const body = new URLSearchParams({ token: held.refreshToken });
    if (this.#world.random.oneIn(2)) {
      const asked = await this.#ask('revoke by form', (api) =>
        api.send(operations.revoke.path, { method: 'POST', body }),
      );
      return this.#ended('form', held.session, asked);
    }
    const asked = await this.#call(held, 'revoke', 'revoke', { query: { scope: 'session' } });
    this.#ended('own', held.session, asked);
  }

  async #endAll(held: Held): Promise<void> {
    this.#forgetAll();
    const asked = await this.#call(held, 'revoke all', 'revoke');
    this.#ended('all', held.session, asked);
  }
}
