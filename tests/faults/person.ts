// A person with one account, who signs in, changes the profile, and ends sessions. Repeats what got no answer, and presents
// some things twice on purpose.

import type { Api, CallInput } from '@latchkey/client/api';
import { newIdempotencyKey } from '@latchkey/client/credentials';
import { type OperationId, operations } from '@latchkey/client/operations';
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

interface Redeeming {
  readonly kind: string;
  readonly credential: string;
  readonly group?: string;
  readonly clients: number;
  readonly hasKeys?: boolean;
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

export function startPerson(world: World) {
  const { recorder, random, site } = world;
  const address = anyAddress(random);
  let account = ++accounts;
  let browser: Held | undefined;
  let devices: Held[] = [];
  let authenticator: Authenticator | undefined;
  let version = 0;

  const forgetAll = (): void => {
    browser = undefined;
    devices = [];
  };
  const forget = (held: Held): void => {
    devices = devices.filter((other) => other !== held);
    if (browser === held) browser = undefined;
  };
  /** Goes on with a new account. */
  const startAnew = (): void => {
    account = ++accounts;
    version = 0;
    authenticator = undefined;
    forgetAll();
  };

  const send = <T>(kind: string, request: (api: Api) => Promise<T>) => ask(world, kind, request, address);
  /** Calls an operation with an access token, and forgets the session if that is refused. */
  async function call<Id extends OperationId>(held: Held, kind: string, id: Id, input: CallInput<Id> = {}) {
    const asked = await askWith(world, held.token, kind, id, input, address);
    if (asked.code === 'invalid_token') forget(held);
    return asked;
  }

  /** Requests an email and uses its link or its code. */
  async function signIn(): Promise<void> {
    const email = `p${account}@example.com`;
    const { id, code, result } = await requestMail(world, email);
    if (code === 'rate_limited') return startAnew();
    const mail = id && (await arrived(email, id));
    if (!mail || !result) return;
    const byCode = random.oneIn(3);
    const body = byCode ? { request: result.request, code: mail.code } : { token: mail.token };
    const redeemed = { kind: byCode ? 'email code' : 'link', credential: `mail ${id}`, group: email };
    const clients = mail.copies > 1 || random.oneIn(4) ? 2 : 1;
    [browser] = await redeem({ ...redeemed, clients }, (api) => api.call('verifyMagicLink', { body }));
  }

  async function arrived(email: string, id: string) {
    const deadline = Date.now() + mailDeadlineMs;
    while (Date.now() < deadline && !world.isOver) {
      const mail = findMail(site.smtp.messages, email, id);
      if (mail) return mail;
      await Bun.sleep(mailPollMs);
    }
    return undefined;
  }

  /**
   * Lets this many clients redeem one credential at the same time, at random nodes, and again while there is no answer.
   * Returns the sessions that started.
   */
  async function redeem(
    { kind, credential, group = credential, clients, hasKeys = false }: Redeeming,
    request: (api: Api, idempotencyKey: string) => Promise<unknown>,
  ): Promise<Held[]> {
    const owner = account;
    const client = async (): Promise<Held[]> => {
      const idempotencyKey = hasKeys ? newIdempotencyKey() : undefined;
      for (let tries = 0; tries < maxTries && !world.isOver; tries++) {
        const { result, ...asked } = await send(kind, (api) => request(api, idempotencyKey ?? ''));
        // Any other refusal is not about the credential.
        if (asked.outcome === 'refused' && !refusals.has(asked.code ?? '')) return [];
        const tokens = result as TokenSet | undefined;
        recorder.redemptions.push({
          ...{ ...asked, credential, group, idempotencyKey, result: tokens?.refresh_token },
        });
        if (tokens) {
          const session = recorder.started(owner, [], asked.sentAt);
          const token = recorder.issued(session, tokens.access_token);
          return [{ session, token, refreshToken: tokens.refresh_token }];
        }
        if (asked.outcome === 'refused') return [];
        await Bun.sleep(retryPauseMs);
      }
      return [];
    };
    return (await Promise.all(Array.from({ length: clients }, client))).flat();
  }

  async function signInDevice(approver: Held): Promise<void> {
    const started = await ask(world, 'device start', (api) =>
      api.call('startDeviceAuthorization', { body: {} }),
    );
    if (!started.result) return;
    const { device_code, user_code } = started.result;
    const approved = await call(approver, 'device approve', 'approveDevice', { body: { user_code } });
    if (approved.outcome !== 'done') return;
    const credential = `device code of ${mailIdOf(device_code)}`;
    const clients = random.oneIn(4) ? 2 : 1;
    const sessions = await redeem({ kind: 'device poll', credential, clients, hasKeys: true }, (api, key) =>
      api.call('issueToken', { body: { device_code }, headers: { 'Idempotency-Key': key } }),
    );
    devices.push(...sessions);
  }

  /** Starts a run, and sometimes a nested one. Only services verify their tokens. */
  async function startRuns({ session: parent, text }: LiveToken): Promise<void> {
    const body = new URLSearchParams(exchangeForm(text, 'profile'));
    const { result, sentAt } = await send('run', (api) =>
      api.send(operations.issueToken.path, { method: 'POST', body }),
    );
    if (!result) return;
    const session = recorder.started(parent.account, parent.path, sentAt);
    const token = recorder.issued(session, (result.body as IssuedToken).access_token);
    if (session.path.length <= maxDepth && random.oneIn(2)) await startRuns(token);
  }

  async function addPasskey(held: Held): Promise<void> {
    const options = await call(held, 'passkey options', 'startPasskeyRegistration');
    if (!options.result) return;
    const created = createAuthenticator({ origin });
    const body = created.create(options.result);
    const added = await call(held, 'passkey', 'registerPasskey', { body });
    if (added.outcome === 'done') authenticator = created;
  }

  async function usePasskey(own: Authenticator): Promise<void> {
    const challenge = await send('passkey challenge', (api) => api.call('startPasskeyLogin'));
    if (!challenge.result) return;
    const body = own.get(challenge.result);
    const credential = `assertion ${++assertions}`;
    const clients = random.oneIn(3) ? 2 : 1;
    const sessions = await redeem({ kind: 'passkey sign-in', credential, clients }, (api) =>
      api.call('loginWithPasskey', { body }),
    );
    if (browser) devices.push(...sessions.slice(0, maxDevices - devices.length));
    else [browser] = sessions;
  }

  /** Sends a refresh token with a key. */
  async function sendRefresh(held: Held, idempotencyKey: string): Promise<Asked<TokenSet>> {
    const { refreshToken } = held;
    const headers = { 'Idempotency-Key': idempotencyKey };
    const asked = await send('refresh', (api) =>
      api.call('refresh', { body: { refresh_token: refreshToken }, headers }),
    );
    const credential = `refresh token ${refreshToken}`;
    const { result: tokens, ...seen } = asked;
    recorder.redemptions.push({
      ...{ ...seen, credential, group: undefined, idempotencyKey, result: tokens?.refresh_token },
    });
    if (tokens) recorder.verified(held.session, asked, true);
    return asked;
  }

  const adopt = (held: Held, tokens: TokenSet): void => {
    held.refreshToken = tokens.refresh_token;
    held.token = recorder.issued(held.session, tokens.access_token);
  };

  /** Refreshes as programs do: with one key until there is an answer. */
  async function refresh(held: Held): Promise<void> {
    const key = newIdempotencyKey();
    for (;;) {
      const asked = await sendRefresh(held, key);
      if (asked.result) return adopt(held, asked.result);
      if (asked.code === 'invalid_grant') recorder.verified(held.session, asked, false);
      if (asked.code === 'invalid_grant' || world.isOver) return forget(held);
      await Bun.sleep(retryPauseMs);
    }
  }

  /** Two programs refresh with the same token and keys of their own, which only one may succeed with. */
  async function race(held: Held): Promise<void> {
    const answers = await Promise.all([1, 2].map(() => sendRefresh(held, newIdempotencyKey())));
    const winner = answers.find(({ result }) => result !== undefined);
    const unanswered = answers.find(({ outcome }) => outcome === 'unknown');
    if (answers.every(({ code }) => code === 'invalid_grant')) {
      recorder.verified(held.session, answers[0]!, false);
      forget(held);
    } else if (unanswered) {
      // What comes late may count as a theft and end the session.
      forget(held);
      ended('theft', held.session, unanswered);
    } else if (winner?.result) adopt(held, winner.result);
  }

  async function write(held: Held): Promise<void> {
    const change = { account, version: ++version };
    const body = { name: `name ${change.version}` };
    const { sentAt, endedAt, outcome } = await call(held, 'profile change', 'updateProfile', { body });
    recorder.writes.push({ ...change, sentAt, endedAt, outcome });
  }

  async function read(held: Held): Promise<void> {
    const owner = account;
    const { sentAt, endedAt, node, result } = await call(held, 'profile', 'getProfile');
    if (!result) return;
    const shown = Number(/^name (\d+)$/.exec(result.name ?? '')?.[1] ?? 0);
    recorder.reads.push({ account: owner, version: shown, node, sentAt, endedAt });
  }

  function ended(how: End['how'], session: StartedSession, asked: Asked<unknown>): void {
    const { sentAt, endedAt, outcome } = asked;
    const of = { account: session.account, session: how === 'all' ? undefined : session.id };
    recorder.ended({ how, ...of, sentAt, endedAt, outcome });
  }

  async function endOne(held: Held): Promise<void> {
    forget(held);
    const body = new URLSearchParams({ token: held.refreshToken });
    const byForm = random.oneIn(2);
    const asked = byForm
      ? await send('revoke by form', (api) => api.send(operations.revoke.path, { method: 'POST', body }))
      : await call(held, 'revoke', 'revoke', { query: { scope: 'session' } });
    ended(byForm ? 'form' : 'own', held.session, asked);
  }

  async function endAll(held: Held): Promise<void> {
    forgetAll();
    ended('all', held.session, await call(held, 'revoke all', 'revoke'));
  }

  return {
    signIn,
    /** The token of the browser's session, for what a guesser tries. */
    token: (): LiveToken | undefined => browser?.token,
    /** Does one thing. */
    act: (): Promise<void> => {
      if (!browser) return authenticator && random.oneIn(2) ? usePasskey(authenticator) : signIn();
      const [own, passkey, held] = [browser, authenticator, random.pick([browser, ...devices])];
      const chances: readonly (readonly [weight: number, action: () => Promise<void>])[] = [
        [devices.length < maxDevices ? 4 : 0, () => signInDevice(own)],
        passkey ? [2, () => usePasskey(passkey)] : [1, () => addPasskey(own)],
        [6, () => refresh(held)],
        [3, () => startRuns(held.token)],
        [2, () => race(held)],
        [5, () => write(held)],
        [5, () => read(held)],
        [2, () => endOne(held)],
        [1, () => endAll(held)],
      ];
      return random.pick(chances.flatMap(([weight, action]) => Array(weight).fill(action)))();
    },
  };
}
