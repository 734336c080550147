// An account that has one of everything that operations can change.

import { tokenSet } from '@latchkey/contract/tokens';
import { mintHandle, readHandle } from '../../packages/server/src/platform/crypto/handle.ts';
import type { Executor } from '../../packages/server/src/platform/database/executor.ts';
import { readToken, sessionIdOf } from '../../packages/server/src/sessions/tokens.ts';
import { emailCodeOf } from '../../packages/server/src/sign-in/magic-links/mail.ts';
import { addPasskey, cookiesIn, newAuthenticator } from './account.ts';
import type { Answer, Ask, TestApp, Tokens } from './app.ts';
import { codeFor, redeem, redirectUri, requestOf } from './authorize.ts';
import { addMember, createOrganization, declareService } from './services.ts';
import { until } from './until.ts';

export interface Link {
  readonly token: string;
  readonly request: string;
  readonly code: string;
}

/** What a test needs to change the account. */
export type AccountScene = Awaited<ReturnType<typeof prepareAccount>>;

/** Prepares what the accounts of one database share; returns the credential of a service that manages organizations and operates. */
export async function prepareDatabase(node: TestApp): Promise<string> {
  await createOrganization(node.ctx, 'team', 'Team');
  return node.serviceAuthorization('organizations', 'operate');
}

/** The rows of a query. */
export const rowsOf = <Row = Record<string, string>>({ ctx }: TestApp, text: string): Promise<Row[]> =>
  ctx.db.single.run<Row>(text, []);

/** All rows of a database, as JSON, by table. */
export async function allRows(
  on: Executor,
  without: readonly string[] = [],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = await on.run<{ name: string }>(
    on.dialect === 'postgres'
      ? "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"
      : "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY 1",
    [],
  );
  const tables = found.map(({ name }) => name).filter((name) => !without.includes(name));
  const rows = await Promise.all(tables.map((name) => on.run(`SELECT * FROM "${name}"`, [])));
  return new Map(tables.map((name, index) => [name, rows[index]!.map((row) => JSON.stringify(row))]));
}

/** The id of the session, run or key behind a token or a cookie. */
export function sessionIn({ ctx }: TestApp, { token, cookie = '' }: Ask): string | undefined {
  if (token !== undefined) return readToken(ctx, token)?.sessionId;
  const handle = readHandle(ctx.keys, 'browserSession', cookie.split('=')[1] ?? '');
  return handle && sessionIdOf(handle.subject);
}

/** Waits until a statement on the database of this node waits for a lock. */
export const untilBlocked = (node: TestApp): Promise<void> => {
  const blocked = `SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0`;
  return until(async () => (await rowsOf(node, blocked)).length > 0, 'a statement that waits for a lock');
};

/** The idempotency key of the refreshes of the device's session. */
export const retryKey = { 'Idempotency-Key': 'the same request' };

let scenes = 0;

/** The sign-in link of a mail, without waiting for the mail. */
export async function linkFor(node: TestApp, email: string, ask: Ask = {}): Promise<Link> {
  const { body } = await node.ask('POST', '/magic_link', { ...ask, json: { email } });
  const { keys } = node.ctx;
  const { subject, value } = readHandle(keys, 'magicLinkRequest', body.request)!;
  return {
    token: mintHandle(keys, 'magicLink', { subject, value }),
    request: body.request,
    code: emailCodeOf(keys.signing, subject.toString('base64url')),
  };
}

/** The token of the link in the mail about a row. */
export function tokenOf(
  node: TestApp,
  kind: 'notice' | 'emailChange',
  row: { id: string; expires_at: string },
): string {
  return mintHandle(node.ctx.keys, kind, {
    subject: Buffer.from(row.id, 'base64url'),
    value: Number(row.expires_at),
  });
}

const expectStatus = (answer: Answer, status: number): Answer => {
  if (answer.status !== status)
    throw new Error(`the scene could not be prepared: ${answer.status} ${answer.text}`);
  return answer;
};

/** Creates an account with one of everything. `service` is what `prepareDatabase` returns. */
export async function prepareAccount(node: TestApp, service: string) {
  const number = scenes++;
  const email = `p${number}@example.com`;
  const { token: first } = await linkFor(node, email);
  const tokens = tokenSet.parse(await node.api.call('verifyMagicLink', { body: { token: first } }));
  const accessToken = tokens.access_token;
  const headers = { Origin: new URL(node.ctx.config.baseUrl).origin };
  const { token: second } = await linkFor(node, email);
  const browser = await node.ask('POST', '/magic_link/verify?session=cookie', {
    headers,
    json: { token: second },
  });
  const userId: string = expectStatus(browser, 200).body.user.id;

  const organization = `scene-${number}`;
  await createOrganization(node.ctx, organization, 'Scene');
  await addMember(node.ctx, organization, userId, 'member');

  const passkey = newAuthenticator(node);
  const { body: record } = expectStatus(await addPasskey(node, tokens, passkey), 201);
  await node.api.call('renamePasskey', {
    accessToken,
    params: { id: record.id },
    body: { name: 'first name' },
  });
  await node.api.call('updateProfile', { accessToken, body: { locale: 'en' } });

  const { id: keyId, key = '' } = await node.api.call('createKey', {
    accessToken,
    body: { name: 'first key', scope: '*', expires_in: 86_400 },
  });

  const application = await declareService(node.ctx, { redirectUris: [redirectUri], rights: ['delegate'] });
  const request = requestOf(application.id);
  const authorizationCode = await codeFor(node, tokens, request);
  const redeemedCode = await codeFor(node, tokens, request);
  expectStatus(
    await redeem(node, redeemedCode, {}, { headers: { Authorization: application.authorization } }),
    200,
  );

  const codes = (client_name: string) => node.api.call('startDeviceAuthorization', { body: { client_name } });
  const approved = await codes('approved');
  await node.api.call('approveDevice', { accessToken, body: { user_code: approved.user_code } });
  const pending = await codes('pending');
  // Two devices, because the notice of the second one waits in a digest.
  await node.deviceLogin(tokens);
  const { refresh_token: stolen } = await node.deviceLogin(tokens);
  const refresh = (refresh_token: string): Promise<Tokens> =>
    node.api.call('refresh', { body: { refresh_token }, headers: retryKey });
  const { refresh_token: spent } = await refresh(stolen);
  const deviceTokens = await refresh(spent);

  await node.api.call('requestEmailChange', { accessToken, body: { email: `new-${email}` } });
  const links: [Link, Link] = [await linkFor(node, email), await linkFor(node, email)];

  const rowFrom = async (text: string) =>
    (await rowsOf<{ id: string; expires_at: string }>(node, `SELECT * FROM ${text}`))[0]!;
  const device = await rowFrom(`sessions WHERE user_id = '${userId}' AND generation = 3`);
  const notice = await rowFrom(`notices WHERE session_id = '${device.id}'`);
  const emailChange = await rowFrom(`email_changes WHERE user_id = '${userId}'`);
  const { headers: profile } = await node.ask('GET', '/me', { token: accessToken });
  // Makes the next use of each session update its last use, but for that of the page: its use would wait for its end.
  const ofPage = `SELECT max(ordinal) FROM sessions WHERE user_id = '${userId}' AND kind = 'browser'`;
  await rowsOf(
    node,
    `UPDATE sessions SET last_used_at = 0 WHERE user_id = '${userId}' AND ordinal <> (${ofPage})`,
  );
  return {
    service,
    /** A service of this account alone: people sign in to it, and it starts runs. */
    application,
    email,
    userId,
    tokens,
    /** The entity tag of the profile. */
    profileTag: profile.get('ETag') ?? '',
    /** The session of a device, with a refresh token of each generation. */
    device: { id: device.id, tokens: deviceTokens, spent, stolen },
    /** The request headers of a browser that has signed in. */
    browser: { headers, cookie: cookiesIn(browser).join('; ') },
    passkey,
    passkeyId: record.id as string,
    /** A key that may do everything. */
    key: { id: keyId, key },
    /** A link for each of the two racing operations. */
    links,
    /** The user code and the device code of a sign-in that waits for its approval. */
    pendingCode: pending.user_code,
    pendingDeviceCode: pending.device_code,
    approvedCode: approved.device_code,
    /** Of an application: one to redeem, and one that was redeemed. */
    authorizationCode,
    redeemedCode,
    changeToken: tokenOf(node, 'emailChange', emailChange),
    noticeToken: tokenOf(node, 'notice', notice),
    /** The slug of an organization of which the account is the only member, with the role member. */
    organization,
  };
}
