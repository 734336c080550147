// Runs pairs of operations that write to one account in parallel, from two nodes on one PostgreSQL database: no deadlock,
// no 5xx and no long wait, and nothing survives an operation that ends everything (`npm test` runs one pair in twelve, and
// all of the latter). Every transaction locks the security log of the account last, so each race holds that lock until both
// operations have taken their earlier locks.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { generateKeyPairSync } from 'node:crypto';
import type { endpoints } from '@latchkey/contract/endpoints';
import postgres from 'postgres';
import { sweepsOf, templates } from '../../packages/server/src/app.ts';
import { revokeAllSessions, setDisabled } from '../../packages/server/src/identity/account/account.ts';
import { type ImportedUser, importUser } from '../../packages/server/src/operator/import.ts';
import type { Context } from '../../packages/server/src/platform/context.ts';
import { mailboxTransport } from '../../packages/server/src/platform/mail/transport.ts';
import { MailWorker } from '../../packages/server/src/platform/mail/worker.ts';
import { recordRateLimitReached } from '../../packages/server/src/security-log/events/events.ts';
import { revokeService } from '../../packages/server/src/sessions/ending.ts';
import { deleteAccount } from '../../packages/server/src/whole-account/personal-data.ts';
import { newAuthenticator, passkeyLogin } from '../support/account.ts';
import { type AccountScene, linkFor, prepareAccount, retryKey, tokenOf } from '../support/account-scene.ts';
import { type Ask, openApp, type TestApp } from '../support/app.ts';
import { base64url, coseKey } from '../support/authenticator.ts';
import { redeem, redirectUri, requestOf } from '../support/authorize.ts';
import { isLong } from '../support/long.ts';
import { newDatabase } from '../support/new-database.ts';
import { addMember, createOrganization } from '../support/organizations.ts';
import { declareService, type TestService } from '../support/services.ts';
import { turns } from '../support/turns.ts';
import { until } from '../support/until.ts';

type Side = 0 | 1;

interface Operation {
  /** Returns the status of the HTTP response, whatever it is. */
  readonly run: (node: TestApp, scene: AccountScene, side: Side) => Promise<{ readonly status: number }>;
  /** The expected status if the operation runs alone. */
  readonly status: number;
  /** A query with the user ID as `$1` that returns a row once the operation has written its changes. */
  readonly leaves: string;
  /**
   * `everything`: it ends every session and all that was begun. `with the account`: what it makes without a new sign-in
   * ends with everything else. These two are always raced.
   */
  readonly ends?: 'everything' | 'with the account';
}

const event = (type: string, detail = '%'): string =>
  `SELECT 1 FROM events WHERE user_id = $1 AND type = '${type}' AND coalesce(detail, '') LIKE '${detail}'`;
const notice = (kind: string): string => `SELECT 1 FROM notices WHERE user_id = $1 AND kind = '${kind}'`;
const accountGone = 'SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM users WHERE id = $1)';

const asOwner =
  (method: string, path: string, json?: (scene: AccountScene, side: Side) => unknown): Operation['run'] =>
  (node, scene, side) =>
    node.ask(method, path, { token: scene.tokens.access_token, ...(json && { json: json(scene, side) }) });

const post =
  (path: string, ask: (scene: AccountScene, side: Side) => Ask): Operation['run'] =>
  (node, scene, side) =>
    node.ask('POST', path, ask(scene, side));

/** A service that people sign in to. */
let application: TestService;

/** The credential of a service that manages organizations. */
let service: string;

const asService =
  (method: string, pathOf: (scene: AccountScene) => string, json?: object): Operation['run'] =>
  (node, scene) =>
    node.ask(method, `/organizations/${pathOf(scene)}`, {
      headers: { Authorization: service },
      ...(json && { json }),
    });

const asOperator =
  (method: string, pathOf: (scene: AccountScene) => string): Operation['run'] =>
  (node, scene) =>
    node.ask(method, `/users/${scene.userId}/${pathOf(scene)}`, { headers: { Authorization: service } });

type Endpoints = typeof endpoints;
type Writing = {
  [Id in keyof Endpoints]: Endpoints[Id] extends { method: 'get' } ? never : Id;
}[keyof Endpoints];

/** What each endpoint but those of GET does to an account; `reads` and `stranger` for those that write to no existing account. */
const byEndpoint: Record<Writing, Operation | 'reads' | 'stranger'> = {
  postUserinfo: 'reads',
  issueIdToken: 'reads',
  confirmSignOut: {
    run: asOwner('POST', '/end_session/confirm', () => ({})),
    status: 200,
    leaves: event('session_revoked', '%logout%'),
  },
  verifyAuthorization: 'reads',
  denyAuthorization: 'reads',
  approveAuthorization: {
    run: asOwner('POST', '/authorize/approve', () => requestOf(application.id, { nonce: 'another' })),
    ends: 'with the account',
    status: 200,
    leaves: "SELECT 1 FROM authorization_codes WHERE user_id = $1 AND nonce = 'another'",
  },
  startDeviceAuthorization: 'stranger',
  issueToken: {
    run: post('/token', ({ approvedCode: device_code }) => ({ json: { device_code } })),
    ends: 'with the account',
    status: 200,
    leaves:
      "SELECT 1 FROM device_authorizations WHERE user_id = $1 AND status = 'redeemed' AND client_name = 'approved'",
  },
  verifyDevice: 'reads',
  approveDevice: {
    run: asOwner('POST', '/device/approve', ({ pendingCode: user_code }) => ({ user_code })),
    ends: 'with the account',
    status: 204,
    leaves: event('device_approved', '%pending%'),
  },
  denyDevice: {
    run: asOwner('POST', '/device/deny', ({ pendingCode: user_code }) => ({ user_code })),
    status: 204,
    leaves: event('device_denied'),
  },
  startPasskeyRegistration: 'reads',
  registerPasskey: {
    run: async (node, { tokens }) => {
      const owner = { token: tokens.access_token };
      const challenge = await node.ask('POST', '/passkey/register/challenge', owner);
      // The session may have ended meanwhile.
      if (challenge.status !== 200) return challenge;
      const json = { ...newAuthenticator(node).create(challenge.body), name: 'another' };
      return node.ask('POST', '/passkey/register', { ...owner, json });
    },
    status: 201,
    leaves: event('passkey_added', '%another%'),
  },
  startPasskeyLogin: 'reads',
  loginWithPasskey: {
    run: (node, { passkey }) => passkeyLogin(node, passkey),
    status: 200,
    leaves: event('login', '%passkey%'),
  },
  renamePasskey: {
    run: (node, scene, side) =>
      asOwner('PATCH', `/passkeys/${scene.passkeyId}`, () => ({ name: 'renamed' }))(node, scene, side),
    status: 200,
    // Merged into the event of the rename that the scene starts with.
    leaves: `${event('passkey_renamed', '%renamed%')} AND NOT EXISTS (${event('passkey_renamed', '%first name%')})`,
  },
  removePasskey: {
    run: (node, scene, side) => asOwner('DELETE', `/passkeys/${scene.passkeyId}`)(node, scene, side),
    status: 204,
    leaves: event('passkey_removed'),
  },
  requestMagicLink: {
    run: post('/magic_link', ({ email, browser }) => ({ ...browser, json: { email } })),
    status: 202,
    leaves: `SELECT 1 FROM users u WHERE id = $1 AND
      (SELECT count(*) FROM magic_links m WHERE m.email_key = u.email_key AND spent_at IS NULL) = 3`,
  },
  previewMagicLink: 'reads',
  verifyMagicLink: {
    run: post('/magic_link/verify', ({ links }, side) => ({ json: { token: links[side].token } })),
    status: 200,
    leaves: `${event('login')} OFFSET 5`,
  },
  refresh: {
    run: post('/refresh', ({ device }) => ({ json: { refresh_token: device.tokens.refresh_token } })),
    ends: 'with the account',
    status: 200,
    leaves: 'SELECT 1 FROM sessions WHERE user_id = $1 AND generation = 4',
  },
  revoke: {
    run: asOwner('POST', '/revoke'),
    ends: 'everything',
    status: 204,
    leaves: event('all_sessions_revoked'),
  },
  logout: {
    run: (node, { device }) =>
      node.ask('DELETE', '/logout?scope=session', { token: device.tokens.access_token }),
    status: 204,
    leaves: event('session_revoked'),
  },
  updateProfile: {
    run: asOwner('PATCH', '/me', () => ({ name: 'Somebody else' })),
    status: 200,
    // Merged into the event of the change that the scene starts with.
    leaves: event('profile_changed', '%locale name%'),
  },
  deleteAccount: { run: asOwner('DELETE', '/me'), status: 204, leaves: accountGone },
  requestEmailChange: {
    run: asOwner('POST', '/me/email', ({ email }, side) => ({ email: `another-${side}-${email}` })),
    ends: 'with the account',
    status: 202,
    leaves: "SELECT 1 FROM email_changes WHERE user_id = $1 AND new_email LIKE 'another-%'",
  },
  previewEmailChange: 'reads',
  verifyEmailChange: {
    run: asOwner('POST', '/me/email/verify', ({ changeToken: token }) => ({ token })),
    status: 200,
    leaves: event('email_changed'),
  },
  previewNotice: 'reads',
  disownNotice: {
    run: post('/notices/disown', ({ noticeToken: token }) => ({ json: { token } })),
    status: 200,
    leaves: 'SELECT 1 FROM notices WHERE user_id = $1 AND disowned_at IS NOT NULL',
  },
  putOrganization: 'stranger',
  deleteOrganization: {
    run: asService('DELETE', ({ organization }) => organization),
    status: 204,
    leaves: event('membership_changed', '%organization_deleted%'),
  },
  putMember: {
    run: asService('PUT', ({ organization, userId }) => `${organization}/members/${userId}`, {
      role: 'admin',
    }),
    status: 200,
    leaves: event('membership_changed', '%"role":"admin"%'),
  },
  removeMember: {
    run: asService('DELETE', ({ organization, userId }) => `${organization}/members/${userId}`),
    status: 204,
    leaves: event('membership_changed', '%former_role%'),
  },
  lookupUser: 'reads',
  reportOnAddress: 'reads',
  disableUser: {
    run: asOperator('POST', () => 'disable'),
    status: 204,
    leaves: event('account_disabled', '%svc_%'),
  },
  // The account is not disabled, so this changes nothing.
  enableUser: 'reads',
  revokeUserSessions: {
    run: asOperator('DELETE', () => 'sessions'),
    status: 204,
    leaves: event('all_sessions_revoked', '%svc_%'),
  },
  revokeUserSession: {
    run: asOperator('DELETE', ({ device }) => `sessions/${device.id}`),
    status: 204,
    leaves: event('session_revoked'),
  },
  revokeSession: {
    run: (node, scene, side) => asOwner('DELETE', `/sessions/${scene.device.id}`)(node, scene, side),
    status: 204,
    leaves: event('session_revoked'),
  },
  challengeKey: 'reads',
  createKey: {
    run: asOwner('POST', '/keys', () => ({ name: 'another', scope: '*', expires_in: 3600 })),
    ends: 'with the account',
    status: 201,
    leaves: event('key_created', '%another%'),
  },
  removeKey: {
    run: (node, scene, side) => asOwner('DELETE', `/keys/${scene.key.id}`)(node, scene, side),
    status: 204,
    leaves: event('key_removed'),
  },
  introspect: 'reads',
  readFeed: 'stranger',
};

/** Runs an operator command; an error means that there was nothing to do, as a 4xx does over HTTP. */
const operator = async (work: () => Promise<unknown>): Promise<{ status: number }> => {
  try {
    await work();
    return { status: 200 };
  } catch (error) {
    if (typeof (error as { status?: unknown }).status !== 'number') throw error;
    return error as { status: number };
  }
};

/** The same service at a later time. The nodes share a clock, so only this context is advanced. */
const later = ({ ctx }: TestApp, seconds: number): Context => ({
  ...ctx,
  clock: () => ctx.clock() + seconds * 1000,
});

const digestWindowSeconds = 3_600;
const sweepBatchSize = 500;
const untilEverythingExpiresSeconds = 10 * 365 * 86_400;

const redeemAs = (node: TestApp, code: string, changed: Record<string, string> = {}) =>
  redeem(node, code, changed, { headers: { Authorization: application.authorization } });

/** Variants of the endpoints, operator commands and background work. */
const others: Record<string, Operation> = {
  'verifyMagicLink by code': {
    run: post('/magic_link/verify', ({ links }, side) => {
      const { request, code } = links[side];
      return { json: { request, code } };
    }),
    status: 200,
    leaves: event('login', '%email_code%'),
  },
  'verifyMagicLink by a wrong code': {
    run: post('/magic_link/verify', ({ links }, side) => ({
      json: { request: links[side].request, code: links[1 - side]!.code },
    })),
    status: 400,
    leaves: 'SELECT 1 FROM magic_links m JOIN users u USING (email_key) WHERE u.id = $1 AND m.code_tries = 1',
  },
  'verifyMagicLink in a browser that is known': {
    run: post('/magic_link/verify?session=cookie', ({ links, browser }, side) => ({
      ...browser,
      json: { token: links[side].token },
    })),
    status: 200,
    leaves: event('session_revoked', '%replaced%'),
  },
  'redemption of a code': {
    run: (node, { authorizationCode }) => redeemAs(node, authorizationCode),
    ends: 'with the account',
    status: 200,
    leaves: `${event('login', '%browser_code%')} OFFSET 1`,
  },
  'second use of a code': {
    run: (node, { redeemedCode }) => redeemAs(node, redeemedCode),
    status: 400,
    leaves: event('code_replayed'),
  },
  'redemption of a code with a wrong verifier': {
    run: (node, { authorizationCode }) => redeemAs(node, authorizationCode, { code_verifier: 'wrong' }),
    status: 400,
    leaves: 'SELECT 1 FROM authorization_codes WHERE user_id = $1 AND spent_at IS NOT NULL AND redeemed = 0',
  },
  'revocation of a code': {
    run: post('/revoke', ({ authorizationCode: token }) => ({ form: { token } })),
    status: 200,
    leaves: 'SELECT 1 FROM authorization_codes WHERE user_id = $1 AND spent_at IS NOT NULL AND redeemed = 0',
  },
  'services revoke of an application': {
    run: async (node, { userId, key }) => {
      const { id } = await declareService(node.ctx, { redirectUris: [redirectUri] });
      await sql`UPDATE sessions SET client_id = ${id} WHERE user_id = ${userId} AND id <> ${key.id} AND generation = 3`;
      return operator(() => revokeService(node.ctx, id));
    },
    status: 200,
    leaves: event('session_revoked', '%service_revoked%'),
  },
  'exchange by a page': {
    run: post('/token', ({ browser }) => ({
      ...browser,
      form: { grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange', scope: 'profile' },
    })),
    ends: 'with the account',
    status: 200,
    leaves: event('run_started'),
  },
  'refresh with a stolen token': {
    run: post('/refresh', ({ device }) => ({ json: { refresh_token: device.stolen } })),
    status: 400,
    leaves: notice('theft_stopped'),
  },
  'refresh repeated': {
    run: post('/refresh', ({ device }) => ({ json: { refresh_token: device.spent }, headers: retryKey })),
    ends: 'with the account',
    status: 200,
    leaves: event('refresh_retry'),
  },
  'refresh repeated from elsewhere': {
    run: post('/refresh', ({ device }) => ({
      json: { refresh_token: device.spent },
      headers: retryKey,
      peer: '198.51.100.7',
    })),
    status: 200,
    leaves: notice('refresh_repeated_elsewhere'),
  },
  'refresh that lost a race': {
    run: post('/refresh', ({ device }) => ({ json: { refresh_token: device.spent } })),
    status: 400,
    leaves: event('refresh_race'),
  },
  'revoke by token': {
    run: post('/revoke', ({ device }) => ({ form: { token: device.tokens.refresh_token } })),
    status: 200,
    leaves: event('session_revoked', '%token%'),
  },
  'cancellation of an approved device code': {
    run: post('/revoke', ({ approvedCode }) => ({ form: { token: approvedCode } })),
    status: 200,
    leaves: event('session_revoked', '%cancelled%'),
  },
  'revoke by key': {
    run: post('/revoke', ({ key }) => ({ form: { token: key.key } })),
    status: 200,
    leaves: event('key_removed', '%token%'),
  },
  logout: {
    run: asOwner('DELETE', '/logout'),
    ends: 'everything',
    status: 204,
    leaves: event('all_sessions_revoked'),
  },
  'verifyEmailChange with the current address': {
    run: post('/me/email/verify', ({ changeToken: token, email: current_email }) => ({
      json: { token, current_email },
    })),
    status: 200,
    leaves: event('email_changed'),
  },
  'verifyEmailChange with a wrong address': {
    run: post('/me/email/verify', ({ changeToken: token }) => ({
      json: { token, current_email: 'wrong@example.com' },
    })),
    status: 400,
    leaves: 'SELECT 1 FROM email_changes WHERE user_id = $1 AND wrong_addresses = 1',
  },
  'disownNotice with the approver': {
    run: post('/notices/disown', ({ noticeToken: token }) => ({ json: { token, approver: true } })),
    status: 200,
    leaves: "SELECT 1 FROM sessions WHERE user_id = $1 AND kind = 'browser' AND distrusted_as = 'disowned'",
  },
  'withdrawal of an approval': {
    run: async (node, { userId, tokens }) => {
      const [login] = await sql`SELECT session_id FROM device_authorizations
        WHERE user_id = ${userId} AND client_name = 'approved'`;
      // There is none if the account is already deleted.
      const path = `/sessions/${login?.['session_id'] ?? 'ses_gone'}`;
      return node.ask('DELETE', path, { token: tokens.access_token });
    },
    status: 204,
    leaves: event('session_revoked', '%withdrawn%'),
  },
  'use of a session': {
    // The request does not await this write.
    run: asOwner('GET', '/me'),
    status: 200,
    leaves: `SELECT 1 FROM sessions WHERE user_id = $1 AND kind = 'browser' AND last_used_at > 0`,
  },
  'note of a limit': {
    run: (node, { userId }, side) =>
      operator(() =>
        recordRateLimitReached(
          node.ctx,
          { userId, client: { ipAddress: null, userAgent: null } },
          `limit ${side}`,
        ),
      ),
    status: 200,
    leaves: event('limit_reached'),
  },
  disable: {
    run: (node, { email }) => operator(() => setDisabled(node.ctx, email, true)),
    ends: 'everything',
    status: 200,
    leaves: event('account_disabled'),
  },
  'disable and enable': {
    run: (node, { email }) =>
      operator(async () => {
        await setDisabled(node.ctx, email, true);
        await setDisabled(node.ctx, email, false);
      }),
    status: 200,
    leaves: event('account_enabled'),
  },
  'sign-out': {
    run: (node, { userId }) => operator(() => revokeAllSessions(node.ctx, userId, 'operator')),
    ends: 'everything',
    status: 200,
    leaves: event('all_sessions_revoked', '%operator%'),
  },
  delete: {
    run: (node, { email }) => operator(() => deleteAccount(node.ctx, email)),
    status: 200,
    leaves: accountGone,
  },
  'add-member': {
    run: (node, { userId }) => operator(() => addMember(node.ctx, 'team', userId, 'member')),
    status: 200,
    leaves:
      "SELECT 1 FROM memberships m JOIN organizations o ON o.id = organization_id WHERE m.user_id = $1 AND slug = 'team'",
  },
  'users import': {
    run: ({ ctx }, { email, organization }) =>
      operator(async () => {
        const user = imported(email, organization);
        await ctx.db.transaction((tx) => importUser(ctx, tx, user));
      }),
    status: 200,
    leaves: event('passkey_added', '%operator%'),
  },
};

/** What a line of a file for the operator's `users import` says. */
function imported(email: string, organization: string): ImportedUser {
  const { publicKey } = generateKeyPairSync('ed25519');
  const passkey = {
    credential_id: crypto.randomUUID(),
    public_key: base64url(coseKey('EdDSA', publicKey)),
    backup_eligible: true,
    sign_count: 0,
    transports: [],
  };
  const organizations = [organization, 'team'].map((slug) => ({ slug, role: 'member' as const }));
  return { email, organizations, passkeys: [passkey] };
}

/** Races first, before the other scenes have filled the outbox. */
const mailWorker: Operation = {
  // At the end of the hour, when digests are due as well.
  run: (node, { userId }) =>
    operator(async () => {
      const ctx = later(node, digestWindowSeconds);
      const worker = new MailWorker(ctx, templates, mailboxTransport);
      const waiting = () => sql`SELECT 1 FROM users u JOIN outbox o ON o.recipient = u.email
        WHERE u.id = ${userId} AND o.sent_at IS NULL AND o.dead_at IS NULL
        AND (o.attempts > 0 OR o.next_attempt_at <= ${ctx.clock()})`;
      await until(async () => (await waiting()).length === 0, 'the delivery of all mail to the account');
      await worker.stop();
    }),
  status: 200,
  leaves: `SELECT 1 FROM users u JOIN outbox o ON o.recipient = u.email
    WHERE u.id = $1 AND o.template = 'notice_digest' AND o.sent_at IS NOT NULL`,
};

/** Deletes rows of every account without a rest, so it runs while no other scene is in use. */
const sweep: Operation = {
  run: (node) =>
    operator(async () => {
      const ctx = later(node, untilEverythingExpiresSeconds);
      for (const sweepBatch of Object.values(sweepsOf(ctx))) {
        while ((await sweepBatch(ctx.db.single, ctx.clock(), sweepBatchSize)).length >= sweepBatchSize);
      }
    }),
  status: 200,
  leaves: `SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM sessions WHERE user_id = $1)
    AND NOT EXISTS (SELECT 1 FROM events WHERE user_id = $1)
    AND NOT EXISTS (SELECT 1 FROM notice_windows WHERE user_id = $1)`,
};

const operations: readonly (readonly [string, Operation])[] = [
  ['mail worker', mailWorker],
  ...Object.entries(byEndpoint).filter((entry): entry is [string, Operation] => typeof entry[1] !== 'string'),
  ...Object.entries(others).map(
    ([name, operation]) => [name in byEndpoint ? `${name} of all` : name, operation] as const,
  ),
];

/** Which of all pairs are raced. */
const pairStep = isLong ? 1 : 12;
const isRaced = (first: number, second: number) =>
  (first + second) % pairStep === 0 || mustEnd(operations[first]![1], operations[second]![1]);

/** Whether nothing may be left of one operation after the other, whichever was first. */
function mustEnd(...pair: readonly [Operation, Operation]): boolean {
  const ends = pair.map((operation) => operation.ends);
  return ends.includes('everything') && ends.includes('with the account');
}

let nodes: readonly [TestApp, TestApp, TestApp];
/** Connections of the test itself, to hold locks and inspect tables. */
let sql: postgres.Sql;

/** How many scenes are prepared or raced in parallel. */
const parallel = 6;

beforeAll(async () => {
  const settings = { LATCHKEY_RATE_LIMITS: `off, notices=1/${digestWindowSeconds}` };
  const databaseUrl = await newDatabase('postgres');
  // PostgreSQL resolves no deadlock, so that each ends in a refusal: a lock is waited for no longer than five seconds.
  const admin = postgres(databaseUrl, { max: 1 });
  await admin.unsafe(`ALTER DATABASE ${new URL(databaseUrl).pathname.slice(1)} SET deadlock_timeout = '1h'`);
  await admin.end();
  const first = await openApp('postgres', { settings, databaseUrl });
  const beside = () => openApp('postgres', { beside: first, settings });
  nodes = [first, await beside(), await beside()];
  sql = postgres(first.databaseUrl, { max: 2 * parallel, onnotice: () => undefined });
  await createOrganization(first.ctx, 'team', 'Team');
  service = await first.serviceAuthorization('organizations', 'operate');
  application = await declareService(first.ctx, { redirectUris: [redirectUri] });
});

afterAll(async () => {
  await sql.end();
  await Promise.all(nodes.map((node) => node.close()));
});

const hasWritten = async (userId: string, leaves: string): Promise<boolean> =>
  (await sql.unsafe(leaves, leaves.includes('$1') ? [userId] : [])).length > 0;

/** For how many turns of the event loop the log is locked while operations take their earlier locks. */
const heldTurns = 50;

/** Runs two operations in parallel, each on its own node, while the lock on the account's security log is held. */
async function race(scene: AccountScene, pair: readonly [Operation, Operation]): Promise<number[]> {
  const finished = sql.begin(async (tx) => {
    await tx`SELECT FROM event_chains WHERE user_id = ${scene.userId} FOR UPDATE`;
    const racing = Promise.all(pair.map(({ run }, side) => run(nodes[side]!, scene, side as Side)));
    // A rejection is handled below.
    racing.catch(() => undefined);
    await turns(heldTurns);
    return { racing };
  });
  const answers = await (await finished).racing;
  return answers.map(({ status }) => status);
}

/** Calls `work` for each item, several in parallel. */
async function forEachOf<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const waiting = [...items];
  await Promise.all(
    Array.from({ length: parallel }, async () => {
      for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
    }),
  );
}

async function requireCleanRace(names: string, pair: readonly [Operation, Operation]): Promise<void> {
  const scene = await prepareAccount(nodes[0], sql, application);
  const statuses = await race(scene, pair);
  expect({ names, failed: statuses.filter((status) => status >= 500) }).toEqual({ names, failed: [] });
  if (mustEnd(...pair)) await requireEnded(names, scene);
}

/** Requires that an account has no active session, and nothing that becomes one without a new sign-in. */
async function requireEnded(names: string, scene: AccountScene): Promise<void> {
  const sessions =
    await sql`SELECT s.kind FROM sessions s JOIN users u ON u.id = s.user_id WHERE u.id = ${scene.userId}
    AND s.revoked_at IS NULL AND s.session_epoch = u.session_epoch AND u.disabled_at IS NULL`;
  expect({ names, active: sessions.map(({ kind }) => kind) }).toEqual({ names, active: [] });
  const changes = await sql<
    { id: string; expires_at: string }[]
  >`SELECT id, expires_at FROM email_changes WHERE user_id = ${scene.userId}`;
  const node = nodes[2];
  const later = await Promise.all([
    ...[scene.approvedCode, scene.pendingDeviceCode].map((device_code) =>
      node.ask('POST', '/token', { json: { device_code } }),
    ),
    redeemAs(node, scene.authorizationCode),
    ...changes.map((row) => {
      const json = { token: tokenOf(node, 'emailChange', row), current_email: scene.email };
      return node.ask('POST', '/me/email/verify', { json });
    }),
  ]);
  expect({ names, later: later.map(({ status }) => status >= 400) }).toEqual({
    names,
    later: later.map(() => true),
  });
}

/** Waits until a transaction waits for the lock of another one. */
async function untilBlocked(): Promise<void> {
  const blocked = () => sql`SELECT FROM pg_stat_activity WHERE cardinality(pg_blocking_pids(pid)) > 0`;
  await until(async () => (await blocked()).length > 0, 'a statement that waits for a lock');
}

describe('each write to an account', () => {
  for (const [name, { run, status, leaves }] of [...operations, ['sweep', sweep] as const]) {
    test(`${name} succeeds and writes its changes if nothing else runs`, async () => {
      const scene = await prepareAccount(nodes[0], sql, application);
      expect(await hasWritten(scene.userId, leaves)).toBe(false);
      const answer = await run(nodes[0], scene, 0);
      expect(answer.status).toBe(status);
      await until(() => hasWritten(scene.userId, leaves), `the changes of ${name}`);
    });
  }
});

describe('two writes to one account at once', () => {
  for (const [index, [name, operation]] of operations.entries()) {
    test(`${name} never deadlocks with another write to the same account`, async () => {
      const raced = operations.filter((_, other) => other >= index && isRaced(index, other));
      await forEachOf(raced, ([otherName, other]) =>
        requireCleanRace(`${name} and ${otherName}`, [operation, other]),
      );
    });
  }

  test('the sweep never deadlocks with a write to an account', async () => {
    // The first sweep deletes what the races above left, which takes too long for a race.
    await sweep.run(nodes[0], await prepareAccount(nodes[0], sql, application), 0);
    for (const [name, operation] of operations.filter((_, index) => isRaced(index, 0)))
      await requireCleanRace(`sweep and ${name}`, [sweep, operation]);
  });
});

test('the deletion of an account waits for a sweep of its log, without a deadlock', async () => {
  const [node] = nodes;
  const { userId, email } = await prepareAccount(node, sql, application);
  let deletion: Promise<void> | undefined;
  // What a sweep does, with the deletion in between.
  await sql.begin(async (tx) => {
    await tx`SELECT FROM event_chains WHERE user_id = ${userId} FOR NO KEY UPDATE`;
    deletion = deleteAccount(node.ctx, email);
    deletion.catch(() => undefined);
    await untilBlocked();
    await tx`DELETE FROM events WHERE user_id = ${userId}`;
  });
  await deletion;
  expect(await hasWritten(userId, accountGone)).toBe(true);
});

test('of the links and codes of one address used in parallel on three nodes, exactly one signs in', async () => {
  for (let round = 0; round < 6; round++) {
    // The first round creates the account.
    const email = round < 3 ? 'everywhere@example.com' : `everywhere-${round}@example.com`;
    const links = await Promise.all(Array.from({ length: 5 }, () => linkFor(nodes[0], email)));
    const bodies = links.map(({ token, request, code }, index) =>
      index < 3 ? { token } : { request, code },
    );
    const answers = await Promise.all(
      bodies.flatMap((json) =>
        nodes.map(async (node) => {
          const { status, body } = await node.ask('POST', '/magic_link/verify', { json });
          return status === 200 ? 'signed in' : `${status} ${body.error}`;
        }),
      ),
    );
    expect(answers.toSorted()).toEqual([...Array(14).fill('400 invalid_grant'), 'signed in']);
    const accounts =
      await sql`SELECT count(*)::int AS n, (SELECT count(*)::int FROM users WHERE email = ${email}) AS users
      FROM sessions s JOIN users u ON u.id = s.user_id WHERE u.email = ${email}`;
    expect(accounts[0]).toEqual({ n: round < 3 ? round + 1 : 1, users: 1 });
  }
});
