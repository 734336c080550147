// A person with one account, who signs in, changes the profile, and ends sessions. Repeats what got no answer, and presents
// some things twice on purpose.

import type { Api } from '@latchkey/client/api';
import { newIdempotencyKey } from '@latchkey/client/credentials';
import { operations } from '@latchkey/client/operations';
import type { IssuedToken, TokenSet } from '@latchkey/contract/tokens';
import { type Assertion, type Authenticator, createAuthenticator } from '../support/authenticator.ts';
import { accessTokenType } from '../support/runs.ts';
import type { Redemption, StartedSession } from './history.ts';
import { findMail, mailIdOf, type SignInMail } from './mails.ts';
import type { Seen } from './recorder.ts';
import type { LiveToken } from './session-recorder.ts';
import type { FaultNode } from './site.ts';
import { anyAddress, anyNode, apiOf, type World } from './world.ts';

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

  /** The access token of the browser's session, for what a guesser tries. */
  get accessToken(): string | undefined {
    return this.#browser?.token.text;
  }

  get account(): number {
    return this.#account;
  }

  #api(node: FaultNode): Api {
    return apiOf(node, this.#address);
  }

  /** Does one thing. */
  async act(): Promise<void> {
    const { random } = this.#world;
    if (!this.#browser) return this.#authenticator && random.oneIn(2) ? this.#usePasskey() : this.signIn();
    const browser = this.#browser;
    const held = random.pick([browser, ...this.#devices]);
    const chances: readonly (readonly [number, () => Promise<void>])[] = [
      [this.#devices.length < maxDevices ? 4 : 0, () => this.#signInDevice(browser)],
      [
        this.#authenticator ? 2 : 1,
        () => (this.#authenticator ? this.#usePasskey() : this.#addPasskey(browser)),
      ],
      [6, () => this.#refresh(held)],
      [3, () => this.#startRuns(held)],
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

  /** Requests an email and uses its link or its code. */
  async signIn(): Promise<void> {
    const { recorder, random } = this.#world;
    const address = this.#email;
    const api = apiOf(anyNode(this.#world), anyAddress(random));
    const requested = await recorder.see('email request', () =>
      api.call('requestMagicLink', { body: { email: address } }),
    );
    if (requested.code === 'rate_limited') return this.#startAnew();
    if (!requested.result) return;
    const { request } = requested.result;
    const id = mailIdOf(request);
    recorder.promisedMails.push({ id, address, sentAt: requested.sentAt });
    const mail = await this.#mail(id);
    if (!mail) return;
    const byCode = random.oneIn(3);
    const body = byCode ? { request, code: mail.code } : { token: mail.token };
    const clients = mail.copies > 1 || random.oneIn(4) ? 2 : 1;
    const sessions = await this.#redeem(clients, `mail ${id}`, address, undefined, (node) =>
      recorder.see(byCode ? 'email code' : 'link', () => this.#api(node).call('verifyMagicLink', { body })),
    );
    this.#browser = sessions[0];
  }

  async #mail(id: string): Promise<SignInMail | undefined> {
    const { site, isOver } = this.#world;
    const deadline = Date.now() + mailDeadlineMs;
    while (Date.now() < deadline && !isOver()) {
      const mail = findMail(site.smtp.messages, this.#email, id);
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
    clients: number,
    credential: string,
    group: string,
    newKey: (() => string) | undefined,
    send: (node: FaultNode, idempotencyKey: string) => Promise<Seen<unknown>>,
  ): Promise<Held[]> {
    const { recorder, isOver } = this.#world;
    const account = this.#account;
    const redeemOnce = async (idempotencyKey: string | undefined): Promise<Held | 'refused' | 'unknown'> => {
      const node = anyNode(this.#world);
      const seen = await send(node, idempotencyKey ?? '');
      const { sentAt, endedAt, outcome, code } = seen;
      // Any other refusal is not about the credential.
      if (outcome === 'refused' && code !== 'invalid_grant') return 'refused';
      const tokens = seen.result as TokenSet | undefined;
      const result = tokens?.refresh_token;
      const at = { sentAt, endedAt, node: node.name };
      const redemption: Redemption = { credential, group, idempotencyKey, outcome, result, ...at };
      recorder.redemptions.push(redemption);
      return tokens ? this.#hold(account, sentAt, tokens) : outcome === 'refused' ? 'refused' : 'unknown';
    };
    const client = async (): Promise<Held[]> => {
      const key = newKey?.();
      for (let tries = 0; tries < maxTries && !isOver(); tries++) {
        const result = await redeemOnce(key);
        if (result === 'refused') return [];
        if (result !== 'unknown') return [result];
        await Bun.sleep(retryPauseMs);
      }
      return [];
    };
    return (await Promise.all(Array.from({ length: clients }, client))).flat();
  }

  #hold(account: number, sentAt: number, tokens: TokenSet): Held {
    const { recorder } = this.#world;
    const session = recorder.sessions.started(account, [], sentAt);
    const token = recorder.sessions.issued(session, tokens.access_token);
    recorder.tokens.push(token);
    return { session, token, refreshToken: tokens.refresh_token };
  }

  /** Sends a request with an access token, which shows whether the node accepts that. */
  async #with<T>(
    held: Held,
    kind: string,
    send: (api: Api, accessToken: string) => Promise<T>,
  ): Promise<Seen<T> & { readonly node: string }> {
    const { recorder } = this.#world;
    const node = anyNode(this.#world);
    const seen = await recorder.see(kind, () => send(this.#api(node), held.token.text));
    const isRefused = seen.code === 'invalid_token';
    if (isRefused || seen.outcome === 'done') {
      const { sentAt } = seen;
      const verification = { by: 'node', name: node.name, token: held.token.id, sentAt } as const;
      recorder.sessions.verified(verification, isRefused ? 'refused' : 'accepted');
    }
    if (isRefused) this.#forget(held);
    return { ...seen, node: node.name };
  }

  async #signInDevice(browser: Held): Promise<void> {
    const { recorder, random } = this.#world;
    const address = anyAddress(random);
    const started = await recorder.see('device start', () =>
      apiOf(anyNode(this.#world), address).call('startDeviceAuthorization', { body: {} }),
    );
    if (!started.result) return;
    const { device_code, user_code } = started.result;
    const approved = await this.#with(browser, 'device approve', (api, accessToken) =>
      api.call('approveDevice', { accessToken, body: { user_code } }),
    );
    if (approved.outcome !== 'done') return;
    const credential = `device code of ${mailIdOf(device_code)}`;
    const sessions = await this.#redeem(
      random.oneIn(4) ? 2 : 1,
      credential,
      credential,
      newIdempotencyKey,
      (node, key) => this.#poll(node, device_code, key),
    );
    this.#devices.push(...sessions);
  }

  /** Polls for the tokens of an approved device. That the decision is pending would mean that it is lost. */
  async #poll(node: FaultNode, device_code: string, key: string): Promise<Seen<TokenSet>> {
    const seen = await this.#world.recorder.see('device poll', () =>
      this.#api(node).call('issueToken', {
        body: { device_code },
        headers: { 'Idempotency-Key': key },
      }),
    );
    return seen.code === 'authorization_pending' ? { ...seen, code: 'invalid_grant' } : seen;
  }

  /** Starts a run, and sometimes a nested one. Only services verify their tokens. */
  async #startRuns({ session: parent, token }: Pick<Held, 'session' | 'token'>): Promise<void> {
    const { recorder, random } = this.#world;
    const seen = await recorder.see('run', () =>
      this.#api(anyNode(this.#world)).send(operations.issueToken.path, {
        method: 'POST',
        body: new URLSearchParams({
          grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
          subject_token: token.text,
          subject_token_type: accessTokenType,
          scope: 'profile',
        }),
      }),
    );
    if (!seen.result) return;
    const session = recorder.sessions.started(parent.account, parent.path, seen.sentAt);
    const issued = recorder.sessions.issued(session, (seen.result.body as IssuedToken).access_token);
    recorder.tokens.push(issued);
    if (session.path.length <= maxDepth && random.oneIn(2)) await this.#startRuns({ session, token: issued });
  }

  async #addPasskey(browser: Held): Promise<void> {
    const options = await this.#with(browser, 'passkey options', (api, accessToken) =>
      api.call('startPasskeyRegistration', { accessToken }),
    );
    if (!options.result) return;
    const authenticator = createAuthenticator({ origin: this.#world.site.origin });
    const body = authenticator.create(options.result);
    const added = await this.#with(browser, 'passkey', (api, accessToken) =>
      api.call('registerPasskey', { accessToken, body }),
    );
    if (added.outcome === 'done') this.#authenticator = authenticator;
  }

  async #usePasskey(): Promise<void> {
    const { recorder, random } = this.#world;
    const challenge = await recorder.see('passkey challenge', () =>
      this.#api(anyNode(this.#world)).call('startPasskeyLogin'),
    );
    if (!challenge.result) return;
    const body = this.#authenticator!.get(challenge.result);
    const credential = `assertion ${++assertions}`;
    const sessions = await this.#redeem(random.oneIn(3) ? 2 : 1, credential, credential, undefined, (node) =>
      this.#signInWithPasskey(node, body),
    );
    if (this.#browser) this.#devices.push(...sessions.slice(0, maxDevices - this.#devices.length));
    else this.#browser = sessions[0];
  }

  /** That the passkey is unknown would mean that it is lost. */
  async #signInWithPasskey(node: FaultNode, body: Assertion): Promise<Seen<unknown>> {
    const seen = await this.#world.recorder.see('passkey sign-in', () =>
      this.#api(node).call('loginWithPasskey', { body }),
    );
    return seen.code === 'unknown_credential' ? { ...seen, code: 'invalid_grant' } : seen;
  }

  /** Sends a refresh token with a key. */
  async #sendRefresh(held: Held, idempotencyKey: string): Promise<Seen<TokenSet> & { node: string }> {
    const { recorder } = this.#world;
    const node = anyNode(this.#world);
    const { refreshToken } = held;
    const seen = await recorder.see('refresh', () =>
      this.#api(node).call('refresh', {
        body: { refresh_token: refreshToken },
        headers: { 'Idempotency-Key': idempotencyKey },
      }),
    );
    const { sentAt, endedAt, outcome, result } = seen;
    const successor = result?.refresh_token;
    const at = { sentAt, endedAt, node: node.name };
    recorder.refreshes.push({ refreshToken, idempotencyKey, outcome, successor, ...at });
    if (outcome === 'done') this.#verified(held, node.name, sentAt, 'accepted');
    return { ...seen, node: node.name };
  }

  #verified(held: Held, name: string, sentAt: number, outcome: 'accepted' | 'refused'): void {
    const verification = { by: 'node', name, token: held.token.id, sentAt } as const;
    this.#world.recorder.sessions.verified(verification, outcome);
  }

  #adopt(held: Held, tokens: TokenSet): void {
    const { recorder } = this.#world;
    held.refreshToken = tokens.refresh_token;
    held.token = recorder.sessions.issued(held.session, tokens.access_token);
    recorder.tokens.push(held.token);
  }

  /** Refreshes as programs do: with one key until there is an answer. */
  async #refresh(held: Held): Promise<void> {
    const key = newIdempotencyKey();
    for (;;) {
      const seen = await this.#sendRefresh(held, key);
      if (seen.result) return this.#adopt(held, seen.result);
      if (seen.code === 'invalid_grant') {
        this.#verified(held, seen.node, seen.sentAt, 'refused');
        return this.#forget(held);
      }
      if (this.#world.isOver()) return this.#forget(held);
      await Bun.sleep(retryPauseMs);
    }
  }

  /** Two programs refresh with the same token and keys of their own, which only one may succeed with. */
  async #race(held: Held): Promise<void> {
    const answers = await Promise.all([1, 2].map(() => this.#sendRefresh(held, newIdempotencyKey())));
    const winner = answers.find(({ result }) => result !== undefined);
    if (answers.every(({ code }) => code === 'invalid_grant')) {
      this.#verified(held, answers[0]!.node, answers[0]!.sentAt, 'refused');
      return this.#forget(held);
    }
    if (answers.some(({ outcome }) => outcome === 'unknown')) {
      // What comes late may count as a theft and end the session.
      this.#forget(held);
      const { account, id } = held.session;
      return this.#world.recorder.sessions.ending('theft', account, id, () => Promise.reject());
    }
    if (winner?.result) this.#adopt(held, winner.result);
  }

  async #write(held: Held): Promise<void> {
    const { recorder } = this.#world;
    const account = this.#account;
    const version = ++this.#version;
    const { sentAt, endedAt, outcome } = await this.#with(held, 'profile change', (api, accessToken) =>
      api.call('updateProfile', { accessToken, body: { name: `name ${version}` } }),
    );
    recorder.writes.push({ account, version, sentAt, endedAt, outcome });
  }

  async #read(held: Held): Promise<void> {
    const { recorder } = this.#world;
    const account = this.#account;
    const { sentAt, endedAt, node, result } = await this.#with(held, 'profile', (api, accessToken) =>
      api.call('getProfile', { accessToken }),
    );
    if (!result) return;
    const [, digits = '0'] = /^name (\d+)$/.exec(result.name ?? '') ?? [];
    const version = Number(digits);
    recorder.reads.push({ account, version, node, sentAt, endedAt });
  }

  async #endOne(held: Held): Promise<void> {
    const { random, recorder } = this.#world;
    const { account, id } = held.session;
    const byForm = random.oneIn(2);
    this.#forget(held);
    await recorder.sessions.ending(byForm ? 'form' : 'own', account, id, async () =>
      wasDone(byForm ? await this.#revokeByForm(held) : await this.#revokeOwn(held)),
    );
  }

  #revokeOwn(held: Held): Promise<Seen<unknown>> {
    return this.#with(held, 'revoke', (api, accessToken) =>
      api.call('revoke', { accessToken, query: { scope: 'session' } }),
    );
  }

  #revokeByForm({ refreshToken: token }: Held): Promise<Seen<unknown>> {
    return this.#world.recorder.see('revoke by form', () =>
      this.#api(anyNode(this.#world)).send(operations.revoke.path, {
        method: 'POST',
        body: new URLSearchParams({ token }),
      }),
    );
  }

  async #endAll(held: Held): Promise<void> {
    this.#forgetAll();
    await this.#world.recorder.sessions.ending('all', this.#account, undefined, async () =>
      wasDone(
        await this.#with(held, 'revoke all', (api, accessToken) => api.call('revoke', { accessToken })),
      ),
    );
  }
}

/** @throws without an answer */
function wasDone({ outcome }: Seen<unknown>): boolean {
  if (outcome === 'unknown') throw new Error('unknown');
  return outcome === 'done';
}
