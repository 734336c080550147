// Every pair of operations that write to one account, at once, from two nodes on one PostgreSQL database: nobody may
// wait in a ring. The test holds the account's log, which
// comes last in every transaction, until both have taken what they lock before it.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { endpoints } from '@latchkey/contract/endpoints';
import postgres from 'postgres';
import { revokeAllSessions, setDisabled } from '../../packages/server/src/identity/account/account.ts';
import {
  addMember,
  createOrganization,
} from '../../packages/server/src/identity/organizations/organizations.ts';
import { deleteAccount } from '../../packages/server/src/whole-account/personal-data/personal-data.ts';
import { addPasskey, newAuthenticator, tokenIn } from '../support/account.ts';
import { type Answer, openApp, type TestApp, type Tokens } from '../support/app.ts';
import type { Authenticator } from '../support/authenticator.ts';

const maxRequestMs = 5_000;

/** What one pair works on: an account with one of everything. */
interface Scene {
  readonly email: string;
  readonly userId: string;
  readonly tokens: Tokens;
  readonly victim: Tokens;
  readonly victimId: string;
  readonly spent: string;
  readonly passkey: Authenticator;
  readonly passkeyId: string;
  readonly links: readonly { readonly token: string; readonly code: string; readonly request: string }[];
  readonly pendingCode: string;
  readonly approvedCode: string;
  readonly changeToken: string;
  readonly noticeToken: string;
}

type Operation = (node: TestApp, scene: Scene, side: 0 | 1) => Promise<unknown>;

const asOwner =
  (method: string, path: string, json?: unknown): Operation =>
  (node, { tokens }) =>
    node.ask(method, path, { token: tokens.access_token, ...(json === undefined ? {} : { json }) });

/** What an endpoint does, or why it changes nothing of an account that exists. */
const byEndpoint: Record<keyof typeof endpoints, Operation | 'reads' | 'stranger'> = {
  startDeviceAuthorization: 'stranger',
  redeemDeviceCode: (node, { approvedCode: device_code }) =>
    node.ask('POST', '/token', { json: { device_code } }),
  verifyDevice: 'reads',
  approveDevice: (node, { tokens, pendingCode: user_code }) =>
    node.ask('POST', '/device/approve', { token: tokens.access_token, json: { user_code } }),
  denyDevice: (node, { tokens, pendingCode: user_code }) =>
    node.ask('POST', '/device/deny', { token: tokens.access_token, json: { user_code } }),
  startPasskeyRegistration: 'reads',
  registerPasskey: (node, { tokens }) => addPasskey(node, tokens, newAuthenticator(node)),
  startPasskeyLogin: 'reads',
  loginWithPasskey: async (node, { passkey }) => {
    const { body } = await node.ask('POST', '/passkey/login/challenge');
    return node.ask('POST', '/passkey/login', { json: passkey.get(body) });
  },
  listPasskeys: 'reads',
  renamePasskey: (node, { tokens, passkeyId }) =>
    node.ask('PATCH', `/passkeys/${passkeyId}`, { token: tokens.access_token, json: { name: 'other' } }),
  removePasskey: (node, { tokens, passkeyId }) =>
    node.ask('DELETE', `/passkeys/${passkeyId}`, { token: tokens.access_token }),
  requestMagicLink: (node, { email }) => node.ask('POST', '/magic_link', { json: { email } }),
  verifyMagicLink: (node, { links }, side) =>
    node.ask('POST', '/magic_link/verify', { json: { token: links[side]!.token } }),
  refresh: (node, { victim: { refresh_token } }) => node.ask('POST', '/refresh', { json: { refresh_token } }),
  revoke: asOwner('POST', '/revoke'),
  logout: (node, { victim }) => node.ask('DELETE', '/logout?scope=session', { token: victim.access_token }),
  getProfile: 'reads',
  updateProfile: asOwner('PATCH', '/me', { name: 'Somebody else' }),
  deleteAccount: asOwner('DELETE', '/me'),
  requestEmailChange: asOwner('POST', '/me/email', { email: 'another@example.com' }),
  previewEmailChange: 'reads',
  verifyEmailChange: (node, { changeToken: token }) =>
    node.ask('POST', '/me/email/verify', { json: { token } }),
  disownNotice: (node, { noticeToken: token }) => node.ask('POST', '/notices/disown', { json: { token } }),
  listOrganizations: 'reads',
  listEvents: 'reads',
  listSessions: 'reads',
  revokeSession: (node, { tokens, victimId }) =>
    node.ask('DELETE', `/sessions/${victimId}`, { token: tokens.access_token }),
  introspect: 'reads',
};

/** What has no endpoint of its own: variants, the operator and the background. */
const others: Record<string, Operation> = {
  'verifyMagicLink by code': (node, { links }, side) =>
    node.ask('POST', '/magic_link/verify', { json: links[2 + side] }),
  'refresh with a stolen token': (node, { spent }) =>
    node.ask('POST', '/refresh', { json: { refresh_token: spent } }),
  disable: (node, { email }) => operator(() => setDisabled(node.ctx, email, true)),
  enable: (node, { email }) => operator(() => setDisabled(node.ctx, email, false)),
  'sign-out': (node, { userId }) => revokeAllSessions(node.ctx, userId, 'operator'),
  delete: (node, { email }) => operator(() => deleteAccount(node.ctx, email)),
  'add-member': (node, { userId }) => operator(() => addMember(node.ctx, 'team', userId, 'member')),
  sweep: (node) => node.sweep(),
};

/** The operator may be told that there is nothing to do, but not that the store is out of reach. */
const operator = async (work: () => Promise<unknown>): Promise<void> => {
  await work().catch((error) => {
    if (!['not_found', 'conflict', 'invalid_token'].includes(error?.code)) throw error;
  });
};

const operations = Object.entries({
  ...Object.fromEntries(
    Object.entries(byEndpoint).filter((entry): entry is [string, Operation] => typeof entry[1] !== 'string'),
  ),
  ...others,
});

let nodes: readonly [TestApp, TestApp];
let gate: postgres.Sql;

beforeAll(async () => {
  const first = await openApp('postgres');
  nodes = [first, await openApp('postgres', { beside: first })];
  gate = postgres(first.databaseUrl, { max: 2 });
  await createOrganization(first.ctx, 'team', 'Team');
});

afterAll(async () => {
  await gate.end();
  await Promise.all(nodes.map((node) => node.close()));
});

let scenes = 0;

async function prepare(node: TestApp): Promise<Scene> {
  const email = `p${scenes++}@example.com`;
  const tokens = await node.login(email);
  const { body: me } = await node.ask('GET', '/me', { token: tokens.access_token });
  const passkey = newAuthenticator(node);
  const { body: record } = await addPasskey(node, tokens, passkey);
  const device = async () => (await node.ask('POST', '/device')).body;
  const approved = await device();
  await node.ask('POST', '/device/approve', {
    token: tokens.access_token,
    json: { user_code: approved.user_code },
  });
  const pending = await device();
  const victim = await node.deviceLogin(tokens);
  const rotated = await node.ask('POST', '/refresh', { json: { refresh_token: victim.refresh_token } });
  const { body: list } = await node.ask('GET', '/sessions', { token: tokens.access_token });
  const newAddress = `new-${email}`;
  await node.ask('POST', '/me/email', { token: tokens.access_token, json: { email: newAddress } });
  const requests: string[] = [];
  for (let link = 0; link < 4; link++) {
    requests.push((await node.ask('POST', '/magic_link', { json: { email } })).body.request);
  }
  const mails = await node.mails();
  const linksSent = mails.filter(({ to, token }) => to === email && token).slice(0, 4);
  return {
    email,
    userId: me.id,
    tokens,
    victim: rotated.body,
    victimId: list.sessions.find((session: { kind: string }) => session.kind === 'device').id,
    spent: victim.refresh_token,
    passkey,
    passkeyId: record.id,
    links: requests.map((request, index) => {
      const mail = linksSent[requests.length - 1 - index]!;
      return { token: mail.token, code: mail.code, request };
    }),
    pendingCode: pending.user_code,
    approvedCode: approved.device_code,
    changeToken: tokenIn(mails.find(({ to }) => to === newAddress)),
    noticeToken: tokenIn(
      mails.find(({ to, text }) => to === email && /#token=lk_/.test(text) && !/lk_ml_/.test(text)),
    ),
  };
}

const heldMs = 20;

async function race(scene: Scene, pair: readonly [Operation, Operation]): Promise<unknown[]> {
  let racing: Promise<unknown[]> | undefined;
  await gate.begin(async (tx) => {
    await tx`SELECT FROM event_chains WHERE user_id = ${scene.userId} FOR UPDATE`;
    racing = Promise.all(pair.map((operation, side) => operation(nodes[side]!, scene, side as 0 | 1)));
    // Whatever becomes of it is looked at below.
    racing.catch(() => undefined);
    await Bun.sleep(heldMs);
  });
  return racing!;
}

const statusOf = (answer: unknown): number => (answer as Answer | undefined)?.status ?? 0;

for (const [index, [name, operation]] of operations.entries()) {
  test(`${name} and every other write to the same account never wait for each other in a ring`, async () => {
    for (const [otherName, other] of operations.slice(index)) {
      const scene = await prepare(nodes[0]);
      const startedAt = performance.now();
      const answers = await race(scene, [operation, other]);
      const took = performance.now() - startedAt;
      expect({ otherName, failed: answers.map(statusOf).filter((status) => status >= 500) }).toEqual({
        otherName,
        failed: [],
      });
      expect(took).toBeLessThan(maxRequestMs);
    }
  }, 60_000);
}

test('PostgreSQL had no deadlock to resolve', async () => {
  // A backend reports what it counted once it is idle for a second, or ends.
  await Bun.sleep(1_100);
  const [row] = await gate`SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`;
  expect(Number(row!['deadlocks'])).toBe(0);
});
