// Every operation that writes to an account: what it sends, and what it answers and leaves if it runs alone. The tests of
// `tests/invariants/` run all of them: alone, in pairs, and while their session ends.

import { expect } from 'bun:test';
import { generateKeyPairSync } from 'node:crypto';
import { endpoints } from '@latchkey/contract/endpoints';
import { sweepsOf, templates } from '../../packages/server/src/app.ts';
import {
  changeDisabled,
  revokeAllSessions,
  setDisabled,
} from '../../packages/server/src/identity/account/account.ts';
import { type ImportedUser, importUser } from '../../packages/server/src/operator/import.ts';
import type { Context } from '../../packages/server/src/platform/context.ts';
import { mailboxTransport } from '../../packages/server/src/platform/mail/transport.ts';
import { MailWorker } from '../../packages/server/src/platform/mail/worker.ts';
import { recordRateLimitReached } from '../../packages/server/src/security-log/events/events.ts';
import { revokeService } from '../../packages/server/src/sessions/ending.ts';
import { deleteAccount } from '../../packages/server/src/whole-account/personal-data.ts';
import { addPasskey, newAuthenticator, passkeyLogin } from './account.ts';
import { type AccountScene, retryKey, rowsOf } from './account-scene.ts';
import type { Answer, Ask, TestApp } from './app.ts';
import { base64url, coseKey } from './authenticator.ts';
import { redeem, requestOf } from './authorize.ts';
import { exchangeForm } from './http.ts';
import { addMember } from './services.ts';
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

type Endpoints = typeof endpoints;
type NotGet = {
  [Id in keyof Endpoints]: Endpoints[Id] extends { method: 'get' } ? never : Id;
}[keyof Endpoints];

/** The endpoints that write to no existing account. `enableUser` changes nothing, because the account is not disabled. */
const withoutEffect = [
  ...['postUserinfo', 'issueIdToken', 'verifyAuthorization', 'denyAuthorization', 'verifyDevice'],
  ...['startDeviceAuthorization', 'startPasskeyRegistration', 'startPasskeyLogin', 'challengeKey'],
  ...['previewMagicLink', 'previewEmailChange', 'previewNotice', 'putOrganization', 'lookupUser'],
  ...['reportOnAddress', 'enableUser', 'introspect', 'readFeed'],
] as const satisfies NotGet[];
type Writing = Exclude<NotGet, (typeof withoutEffect)[number]>;

/** The path of an endpoint below /api/v1/auth, about what the scene has. */
function pathOf(id: Writing, scene: AccountScene): string {
  const { path } = endpoints[id];
  const ids: Record<string, string> = {
    slug: scene.organization,
    user_id: scene.userId,
    session_id: scene.device.id,
    id: path.includes('passkeys') ? scene.passkeyId : path.includes('keys') ? scene.key.id : scene.device.id,
  };
  return path.slice('/api/v1/auth'.length).replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? '');
}

type More = Partial<Operation> & { readonly query?: string };
type Row = (id: Writing) => Operation;

/** A request to an endpoint, which succeeds. `more` is what else is to be said of it, or what is different. */
const request =
  (leaves: string, ask: (scene: AccountScene, side: Side) => Ask, { query = '', ...more }: More = {}): Row =>
  (id) => ({
    run: (node, scene, side) =>
      node.ask(endpoints[id].method.toUpperCase(), pathOf(id, scene) + query, ask(scene, side)),
    status: endpoints[id].status,
    leaves,
    ...more,
  });

const asOwner = (leaves: string, json?: (scene: AccountScene, side: Side) => object, more?: More): Row =>
  request(
    leaves,
    (scene, side) => ({ token: scene.tokens.access_token, ...(json && { json: json(scene, side) }) }),
    more,
  );

const asService = (leaves: string, json?: object, more?: More): Row =>
  request(leaves, ({ service }) => ({ headers: { Authorization: service }, ...(json && { json }) }), more);

const withTheAccount: More = { ends: 'with the account' };
const everything: More = { ends: 'everything' };

const spentCode =
  'SELECT 1 FROM authorization_codes WHERE user_id = $1 AND spent_at IS NOT NULL AND redeemed = 0';

/** What each endpoint that writes does to an account. */
const rows: Record<Writing, Row> = {
  confirmSignOut: asOwner(event('session_revoked', '%logout%'), () => ({})),
  approveAuthorization: asOwner(
    "SELECT 1 FROM authorization_codes WHERE user_id = $1 AND nonce = 'another'",
    ({ application }) => requestOf(application.id, { nonce: 'another' }),
    withTheAccount,
  ),
  issueToken: request(
    "SELECT 1 FROM device_authorizations WHERE user_id = $1 AND status = 'redeemed' AND client_name = 'approved'",
    ({ approvedCode: device_code }) => ({ json: { device_code } }),
    withTheAccount,
  ),
  approveDevice: asOwner(
    event('device_approved', '%pending%'),
    ({ pendingCode: user_code }) => ({ user_code }),
    { ...withTheAccount, status: 204 },
  ),
  denyDevice: asOwner(event('device_denied', '%pending%ip_address%'), ({ pendingCode: user_code }) => ({
    user_code,
  })),
  registerPasskey: () => ({
    run: (node, { tokens }) => addPasskey(node, tokens, newAuthenticator(node), 'another'),
    status: 201,
    leaves: event('passkey_added', '%another%'),
  }),
  loginWithPasskey: () => ({
    run: (node, { passkey }) => passkeyLogin(node, passkey),
    status: 200,
    leaves: event('login', '%passkey%'),
  }),
  renamePasskey: asOwner(
    // Merged into the event of the rename that the scene starts with.
    `${event('passkey_renamed', '%renamed%')} AND NOT EXISTS (${event('passkey_renamed', '%first name%')})`,
    () => ({ name: 'renamed' }),
  ),
  removePasskey: asOwner(event('passkey_removed')),
  requestMagicLink: request(
    `SELECT 1 FROM users u WHERE id = $1 AND
      (SELECT count(*) FROM magic_links m WHERE m.email_key = u.email_key AND spent_at IS NULL) = 3`,
    ({ email, browser }) => ({ ...browser, json: { email } }),
  ),
  verifyMagicLink: request(`${event('login')} LIMIT 1 OFFSET 5`, ({ links }, side) => ({
    json: { token: links[side].token },
  })),
  refresh: request(
    'SELECT 1 FROM sessions WHERE user_id = $1 AND generation = 4',
    ({ device }) => ({ json: { refresh_token: device.tokens.refresh_token } }),
    withTheAccount,
  ),
  revoke: asOwner(event('all_sessions_revoked'), undefined, everything),
  logout: asOwner(event('session_revoked', '%logout%'), undefined, { query: '?scope=session' }),
  // Merged into the event of the change that the scene starts with.
  updateProfile: asOwner(event('profile_changed', '%locale name%'), () => ({ name: 'Somebody else' })),
  deleteAccount: asOwner(accountGone, undefined, everything),
  requestEmailChange: asOwner(
    "SELECT 1 FROM email_changes WHERE user_id = $1 AND new_email LIKE 'another-%'",
    ({ email }, side) => ({ email: `another-${side}-${email}` }),
    withTheAccount,
  ),
  verifyEmailChange: asOwner(event('email_changed'), ({ changeToken: token }) => ({ token })),
  disownNotice: request(
    'SELECT 1 FROM notices WHERE user_id = $1 AND disowned_at IS NOT NULL',
    ({ noticeToken: token }) => ({ json: { token } }),
  ),
  deleteOrganization: asService(event('membership_changed', '%organization_deleted%'), undefined, {
    isCompound: true,
  }),
  putMember: asService(event('membership_changed', '%"role":"admin"%'), { role: 'admin' }),
  removeMember: asService(event('membership_changed', '%former_role%')),
  disableUser: asService(event('account_disabled', '%svc_%')),
  revokeUserSessions: asService(event('all_sessions_revoked', '%svc_%')),
  revokeUserSession: asService(event('session_revoked')),
  revokeSession: asOwner(event('session_revoked', '%other_session%ses_%')),
  createKey: asOwner(
    event('key_created', '%another%'),
    () => ({ name: 'another', scope: '*', expires_in: 3_600 }),
    withTheAccount,
  ),
  removeKey: asOwner(event('key_removed')),
};

/** The operations of endpoints, by their ids. */
export const byEndpoint = Object.entries(rows).map(([id, row]): [keyof Endpoints, Operation] => [
  id as Writing,
  row(id as Writing),
]);

/** An operator command. Status 400 stands for an error, which means that there was nothing to do. */
const operator = (
  leaves: string,
  work: (...of: Parameters<Operation['run']>) => Promise<unknown>,
  more: Partial<Operation> = {},
): Operation => ({
  run: async (...of) => {
    try {
      await work(...of);
      return { status: 200 };
    } catch (error) {
      if (typeof (error as { status?: unknown }).status !== 'number') throw error;
      return { status: 400 };
    }
  },
  status: 200,
  leaves,
  ...more,
});

/** The same service at a later time. The nodes share a clock, so only this context is advanced. */
const later = ({ ctx }: TestApp, seconds: number): Context => ({
  ...ctx,
  clock: () => ctx.clock() + seconds * 1000,
});

export const digestWindowSeconds = 3_600;
const sweepBatchSize = 500;
const untilEverythingExpiresSeconds = 10 * 365 * 86_400;

/** Redeems a code as the application of the scene. */
export const redeemAs = (
  node: TestApp,
  { application }: AccountScene,
  code: string,
  changed: Record<string, string> = {},
) => redeem(node, code, changed, { headers: { Authorization: application.authorization } });

/** Gives a token back, as OAuth clients do. */
const byToken = (leaves: string, tokenOf: (scene: AccountScene) => string): Operation =>
  request(leaves, (scene) => ({ form: { token: tokenOf(scene) } }), { status: 200 })('revoke');

const issueToken = (...row: Parameters<typeof request>): Operation => request(...row)('issueToken');
const refresh = (...row: Parameters<typeof request>): Operation => request(...row)('refresh');
const verifyMagicLink = (...row: Parameters<typeof request>): Operation => request(...row)('verifyMagicLink');
const refused: More = { status: 400 };

/** Variants of the endpoints, operator commands and background work. */
const others: Record<string, Operation> = {
  'verifyMagicLink by code': verifyMagicLink(event('login', '%email_code%'), ({ links }, side) => {
    const { request, code } = links[side];
    return { json: { request, code } };
  }),
  'verifyMagicLink by a wrong code': verifyMagicLink(
    'SELECT 1 FROM magic_links m JOIN users u USING (email_key) WHERE u.id = $1 AND m.code_tries = 1',
    ({ links }, side) => ({ json: { request: links[side].request, code: links[1 - side]!.code } }),
    refused,
  ),
  'verifyMagicLink in a browser that is known': verifyMagicLink(
    event('session_revoked', '%replaced%'),
    ({ links, browser }, side) => ({ ...browser, json: { token: links[side].token } }),
    { query: '?session=cookie' },
  ),
  'updateProfile unless it has changed': request(
    event('profile_changed', '%time_zone%'),
    ({ tokens, profileTag }) => ({
      token: tokens.access_token,
      json: { time_zone: 'UTC' },
      headers: { 'If-Match': profileTag },
    }),
  )('updateProfile'),
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
    leaves: spentCode,
  },
  'revocation of a code': byToken(spentCode, ({ authorizationCode }) => authorizationCode),
  'services revoke': operator(
    event('session_revoked', '%service_revoked%'),
    ({ ctx }, { application }) => revokeService(ctx, application.id),
    { isCompound: true },
  ),
  'exchange by a service': issueToken(
    event('run_started'),
    ({ tokens, application }) => ({
      form: exchangeForm(tokens.access_token, 'profile'),
      headers: { Authorization: application.authorization },
    }),
    withTheAccount,
  ),
  'exchange by a page': issueToken(
    event('run_started'),
    ({ browser }) => ({ ...browser, form: exchangeForm(undefined, 'profile') }),
    withTheAccount,
  ),
  'refresh with a stolen token': refresh(
    notice('theft_stopped'),
    ({ device }) => ({ json: { refresh_token: device.stolen } }),
    refused,
  ),
  'refresh repeated': refresh(
    event('refresh_retry'),
    ({ device }) => ({ json: { refresh_token: device.spent }, headers: retryKey }),
    withTheAccount,
  ),
  'refresh repeated from elsewhere': refresh(notice('refresh_repeated_elsewhere'), ({ device }) => ({
    json: { refresh_token: device.spent },
    headers: retryKey,
    peer: '198.51.100.7',
  })),
  'refresh that lost a race': refresh(
    event('refresh_race'),
    ({ device }) => ({ json: { refresh_token: device.spent } }),
    refused,
  ),
  'revoke by token': byToken(
    event('session_revoked', '%token%'),
    ({ device }) => device.tokens.refresh_token,
  ),
  'cancellation of an approved device code': byToken(
    event('session_revoked', '%cancelled%'),
    ({ approvedCode }) => approvedCode,
  ),
  'revoke by the key itself': request(event('key_removed', '%logout%'), ({ key }) => ({ token: key.key }), {
    query: '?scope=session',
  })('revoke'),
  'revoke by key': byToken(event('key_removed', '%token%'), ({ key }) => key.key),
  'logout of all': asOwner(event('all_sessions_revoked'), undefined, everything)('logout'),
  'verifyEmailChange with the current address': request(
    event('email_changed'),
    ({ changeToken: token, email: current_email }) => ({ json: { token, current_email } }),
  )('verifyEmailChange'),
  'verifyEmailChange with a wrong address': request(
    'SELECT 1 FROM email_changes WHERE user_id = $1 AND wrong_addresses = 1',
    ({ changeToken: token }) => ({ json: { token, current_email: 'wrong@example.com' } }),
    refused,
  )('verifyEmailChange'),
  'disownNotice with the approver': request(
    "SELECT 1 FROM sessions WHERE user_id = $1 AND kind = 'browser' AND distrusted_as = 'disowned'",
    ({ noticeToken: token }) => ({ json: { token, approver: true } }),
    everything,
  )('disownNotice'),
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
    // The request does not await this write. That of the page was used before.
    run: (node, { tokens }) => node.ask('GET', '/me', { token: tokens.access_token }),
    status: 200,
    leaves: `SELECT 1 FROM sessions WHERE user_id = $1 AND kind = 'browser' AND last_used_at > 0 LIMIT 1 OFFSET 1`,
  },
  'note of a limit': operator(event('limit_reached'), ({ ctx }, { userId }, side) => {
    const client = { ipAddress: null, userAgent: null };
    return recordRateLimitReached(ctx, { userId, client }, `limit ${side}`);
  }),
  disable: operator(
    event('account_disabled'),
    ({ ctx }, { userId }) => changeDisabled(ctx, userId, true, 'operator'),
    everything,
  ),
  'disable and enable': operator(
    event('account_enabled'),
    async ({ ctx }, { email }) => {
      await setDisabled(ctx, email, true);
      await setDisabled(ctx, email, false);
    },
    { isCompound: true },
  ),
  'sign-out': operator(
    event('all_sessions_revoked', '%operator%'),
    ({ ctx }, { userId }) => revokeAllSessions(ctx, userId, 'operator'),
    everything,
  ),
  delete: operator(accountGone, ({ ctx }, { email }) => deleteAccount(ctx, email), everything),
  'add-member': operator(
    "SELECT 1 FROM memberships m JOIN organizations o ON o.id = organization_id WHERE m.user_id = $1 AND slug = 'team'",
    ({ ctx }, { userId }) => addMember(ctx, 'team', userId, 'member'),
  ),
  'users import': operator(event('passkey_added', '%operator%'), ({ ctx }, { email, organization }) => {
    const user = imported(email, organization);
    return ctx.db.transaction((tx) => importUser(ctx, tx, user));
  }),
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

/** At the end of the hour, when digests are due as well. */
const mailWorker = operator(
  `SELECT 1 FROM users u JOIN outbox o ON o.recipient = u.email
    WHERE u.id = $1 AND o.template = 'notice_digest' AND o.sent_at IS NOT NULL`,
  async (node, { userId }) => {
    const ctx = later(node, digestWindowSeconds);
    const worker = new MailWorker(ctx, templates, mailboxTransport);
    const due = `SELECT 1 FROM users u JOIN outbox o ON o.recipient = u.email
      WHERE u.id = '${userId}' AND o.sent_at IS NULL AND o.dead_at IS NULL
      AND (o.attempts > 0 OR o.next_attempt_at <= ${ctx.clock()})`;
    const isDone = async () => {
      const isDelivered = (await rowsOf(node, due)).length === 0;
      // What the other operation queues, or had locked, comes when the worker sleeps by a clock that stands still.
      if (!isDelivered) worker.wake();
      return isDelivered;
    };
    await until(isDone, 'the delivery of all mail to the account');
    await worker.stop();
  },
  { isCompound: true },
);

/** Deletes rows of every account without a rest, so it runs while no other scene is in use. */
export const sweep = operator(
  `SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM sessions WHERE user_id = $1)
    AND NOT EXISTS (SELECT 1 FROM events WHERE user_id = $1)
    AND NOT EXISTS (SELECT 1 FROM notice_windows WHERE user_id = $1)`,
  async (node) => {
    const ctx = later(node, untilEverythingExpiresSeconds);
    for (const sweepBatch of Object.values(sweepsOf(ctx))) {
      while ((await sweepBatch(ctx.db.single, ctx.clock(), sweepBatchSize)).length >= sweepBatchSize);
    }
  },
  { isCompound: true },
);

/** All of them by name, the mail worker first, before other scenes have filled the outbox. */
export const operations: readonly (readonly [string, Operation])[] = [
  ['mail worker', mailWorker],
  ...byEndpoint,
  ...Object.entries(others),
];

/**
 * Uses once, on this node, what an account has tokens, codes and links for: all of it must be good, wherever it was made. Returns
 * the responses by the names of the operations.
 */
export async function useEverything(
  node: TestApp,
  scene: AccountScene,
): Promise<ReadonlyMap<string, Partial<Answer>>> {
  const named = new Map(operations);
  const answers = new Map<string, Partial<Answer>>();
  for (const name of [
    ...['use of a session', 'refresh repeated', 'refresh', 'exchange by a service', 'exchange by a page'],
    ...['issueToken', 'approveDevice', 'redemption of a code', 'loginWithPasskey', 'putMember'],
    ...['verifyMagicLink by code', 'revoke by the key itself', 'verifyEmailChange', 'disownNotice'],
  ]) {
    const { run, status } = named.get(name)!;
    const answer = await run(node, scene, 0);
    expect([name, answer.status]).toEqual([name, status]);
    answers.set(name, answer);
  }
  return answers;
}
