// Every operation that writes to an account: what it sends, and what it answers and leaves if it runs alone. The tests of
// `tests/invariants/` and `trust/feed/causes.test.ts` run all of them: alone, in pairs, and while their session ends.

import { generateKeyPairSync } from 'node:crypto';
import type { endpoints } from '@latchkey/contract/endpoints';
import { sweepsOf, templates } from '../../packages/server/src/app.ts';
import { revokeAllSessions, setDisabled } from '../../packages/server/src/identity/account/account.ts';
import { type ImportedUser, importUser } from '../../packages/server/src/operator/import.ts';
import type { Context } from '../../packages/server/src/platform/context.ts';
import { mailboxTransport } from '../../packages/server/src/platform/mail/transport.ts';
import { MailWorker } from '../../packages/server/src/platform/mail/worker.ts';
import { recordRateLimitReached } from '../../packages/server/src/security-log/events/events.ts';
import { revokeService } from '../../packages/server/src/sessions/ending.ts';
import { deleteAccount } from '../../packages/server/src/whole-account/personal-data.ts';
import { newAuthenticator, passkeyLogin } from './account.ts';
import { type AccountScene, retryKey, rowsOf } from './account-scene.ts';
import type { Answer, Ask, TestApp } from './app.ts';
import { base64url, coseKey } from './authenticator.ts';
import { redeem, requestOf } from './authorize.ts';
import { addMember } from './organizations.ts';
import { accessTokenType } from './runs.ts';
import { until } from './until.ts';

/** Which of two operations at once. */
export type Side = 0 | 1;

export interface Operation {
  /** Returns the HTTP response, or what stands for one, whatever its status is. */
  readonly run: (
    node: TestApp,
    scene: AccountScene,
    side: Side,
  ) => Promise<Pick<Answer, 'status'> & Partial<Answer>>;
  /** The expected status if the operation runs alone. */
  readonly status: number;
  /** A query that returns a row once the operation has written its changes. `$1` is the user. */
  readonly leaves: string;
  /**
   * `everything`: it ends every session and all that was begun. `with the account`: what it makes without a new sign-in
   * ends with everything else. These two are always raced.
   */
  readonly ends?: 'everything' | 'with the account';
  /** Not one transaction on one account: another operation may come in between, or see what it does to other accounts. */
  readonly isCompound?: true;
}

/** Whether the database shows what the operation leaves. */
export const hasWritten = async (node: TestApp, { leaves }: Operation, userId: string): Promise<boolean> =>
  (await rowsOf(node, leaves.replaceAll('$1', `'${userId}'`))).length > 0;

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

const asService =
  (method: string, pathOf: (scene: AccountScene) => string, json?: object): Operation['run'] =>
  (node, scene) =>
    node.ask(method, `/organizations/${pathOf(scene)}`, {
      headers: { Authorization: scene.service },
      ...(json && { json }),
    });

const asOperator =
  (method: string, pathOf: (scene: AccountScene) => string): Operation['run'] =>
  (node, scene) =>
    node.ask(method, `/users/${scene.userId}/${pathOf(scene)}`, {
      headers: { Authorization: scene.service },
    });

type Endpoints = typeof endpoints;
export type Writing = {
  [Id in keyof Endpoints]: Endpoints[Id] extends { method: 'get' } ? never : Id;
}[keyof Endpoints];

/** What each endpoint but those of GET does to an account; `reads` and `stranger` for those that write to no existing account. */
export const byEndpoint: Record<Writing, Operation | 'reads' | 'stranger'> = {
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
    run: asOwner('POST', '/authorize/approve', ({ application }) =>
      requestOf(application.id, { nonce: 'another' }),
    ),
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
    leaves: `${event('login')} LIMIT 1 OFFSET 5`,
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
    run: asOwner('DELETE', '/logout?scope=session'),
    status: 204,
    leaves: event('session_revoked'),
  },
  updateProfile: {
    run: asOwner('PATCH', '/me', () => ({ name: 'Somebody else' })),
    status: 200,
    // Merged into the event of the change that the scene starts with.
    leaves: event('profile_changed', '%locale name%'),
  },
  deleteAccount: { run: asOwner('DELETE', '/me'), ends: 'everything', status: 204, leaves: accountGone },
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
    isCompound: true,
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

/** Runs an operator command; 400 stands for an error, which means that there was nothing to do. */
const operator = async (work: () => Promise<unknown>): Promise<{ status: number }> => {
  try {
    await work();
    return { status: 200 };
  } catch (error) {
    if (typeof (error as { status?: unknown }).status !== 'number') throw error;
    return { status: 400 };
  }
};

/** The same service at a later time. The nodes share a clock, so only this context is advanced. */
const later = ({ ctx }: TestApp, seconds: number): Context => ({
  ...ctx,
  clock: () => ctx.clock() + seconds * 1000,
});

export const digestWindowSeconds = 3_600;
const sweepBatchSize = 500;
const untilEverythingExpiresSeconds = 10 * 365 * 86_400;

const exchangeForm = { grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange', scope: 'profile' };

/** Redeems a code as the application of the scene. */
export const redeemAs = (
  node: TestApp,
  { application }: AccountScene,
  code: string,
  changed: Record<string, string> = {},
) => redeem(node, code, changed, { headers: { Authorization: application.authorization } });

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
  'updateProfile unless it has changed': {
    run: (node, { tokens, profileTag }) =>
      node.ask('PATCH', '/me', {
        token: tokens.access_token,
        json: { time_zone: 'UTC' },
        headers: { 'If-Match': profileTag },
      }),
    status: 200,
    leaves: event('profile_changed', '%time_zone%'),
  },
  'redemption of a code': {
    run: (node, scene) => redeemAs(node, scene, scene.authorizationCode),
    ends: 'with the account',
    status: 200,
    leaves: `${event('login', '%browser_code%')} LIMIT 1 OFFSET 1`,
  },
  'second use of a code': {
    run: (node, scene) => redeemAs(node, scene, scene.redeemedCode),
    status: 400,
    leaves: event('code_replayed'),
  },
  'redemption of a code with a wrong verifier': {
    run: (node, scene) => redeemAs(node, scene, scene.authorizationCode, { code_verifier: 'wrong' }),
    status: 400,
    leaves: 'SELECT 1 FROM authorization_codes WHERE user_id = $1 AND spent_at IS NOT NULL AND redeemed = 0',
  },
  'revocation of a code': {
    run: post('/revoke', ({ authorizationCode: token }) => ({ form: { token } })),
    status: 200,
    leaves: 'SELECT 1 FROM authorization_codes WHERE user_id = $1 AND spent_at IS NOT NULL AND redeemed = 0',
  },
  'services revoke': {
    isCompound: true,
    run: (node, { application }) => operator(() => revokeService(node.ctx, application.id)),
    status: 200,
    leaves: event('session_revoked', '%service_revoked%'),
  },
  'exchange by a service': {
    run: post('/token', ({ tokens, application }) => ({
      form: { ...exchangeForm, subject_token: tokens.access_token, subject_token_type: accessTokenType },
      headers: { Authorization: application.authorization },
    })),
    ends: 'with the account',
    status: 200,
    leaves: event('run_started'),
  },
  'exchange by a page': {
    run: post('/token', ({ browser }) => ({
      ...browser,
      form: exchangeForm,
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
    ends: 'everything',
    status: 200,
    leaves: "SELECT 1 FROM sessions WHERE user_id = $1 AND kind = 'browser' AND distrusted_as = 'disowned'",
  },
  'withdrawal of an approval': {
    run: async (node, { userId, tokens }) => {
      const [login] = await rowsOf(
        node,
        `SELECT session_id FROM device_authorizations
         WHERE user_id = '${userId}' AND client_name = 'approved'`,
      );
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
    isCompound: true,
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
    ends: 'everything',
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

const mailWorker: Operation = {
  isCompound: true,
  // At the end of the hour, when digests are due as well.
  run: (node, { userId }) =>
    operator(async () => {
      const ctx = later(node, digestWindowSeconds);
      const worker = new MailWorker(ctx, templates, mailboxTransport);
      const due = `SELECT 1 FROM users u JOIN outbox o ON o.recipient = u.email
        WHERE u.id = '${userId}' AND o.sent_at IS NULL AND o.dead_at IS NULL
        AND (o.attempts > 0 OR o.next_attempt_at <= ${ctx.clock()})`;
      await until(
        async () => (await rowsOf(node, due)).length === 0,
        'the delivery of all mail to the account',
      );
      await worker.stop();
    }),
  status: 200,
  leaves: `SELECT 1 FROM users u JOIN outbox o ON o.recipient = u.email
    WHERE u.id = $1 AND o.template = 'notice_digest' AND o.sent_at IS NOT NULL`,
};

/** Deletes rows of every account without a rest, so it runs while no other scene is in use. */
export const sweep: Operation = {
  isCompound: true,
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

/** All of them by name, the mail worker first, before other scenes have filled the outbox. */
export const operations: readonly (readonly [string, Operation])[] = [
  ['mail worker', mailWorker],
  ...Object.entries(byEndpoint).filter((entry): entry is [string, Operation] => typeof entry[1] !== 'string'),
  ...Object.entries(others).map(
    ([name, operation]) => [name in byEndpoint ? `${name} of all` : name, operation] as const,
  ),
];
