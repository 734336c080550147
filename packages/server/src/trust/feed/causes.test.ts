// Every operation that ends or changes something writes its events, in its transaction. What must be announced is derived
// from the database before and after each operation, so a cause that is forgotten fails here, and so does an
// endpoint without a step.

import { beforeAll, expect, test } from 'bun:test';
import type { endpoints } from '@latchkey/contract/endpoints';
import {
  addPasskey,
  askForAddress,
  cookieByMail,
  disown,
  linkTokenFor,
  newAuthenticator,
  passkeyLogin,
  sameOrigin,
  signInByMail,
  subjects,
  verifyAddress,
} from '../../../../../tests/support/account.ts';
import { onBothDatabases, type TestApp, type Tokens } from '../../../../../tests/support/app.ts';
import { type FeedService, feedService, type ReceivedEvent } from '../../../../../tests/support/feed.ts';
import { createdKey } from '../../../../../tests/support/keys.ts';
import { addMember, createOrganization } from '../../../../../tests/support/organizations.ts';
import { idOf, startedRun } from '../../../../../tests/support/runs.ts';
import { declareService } from '../../../../../tests/support/services.ts';
import { shared } from '../../../../../tests/support/shared.ts';
import { revokeAllSessions, setDisabled } from '../../identity/account/account.ts';
import { revokeService } from '../../sessions/ending.ts';
import { deleteAccount } from '../../whole-account/personal-data.ts';

/** An account with something to end and change, and who changes it. */
interface Scene {
  readonly t: TestApp;
  readonly email: string;
  readonly userId: string;
  readonly tokens: Tokens;
  readonly accessToken: string;
  readonly organization: string;
  /** The `Authorization` header of a service that manages organizations and operates. */
  readonly service: string;
}

type Row = Record<string, string | number | null>;

interface State {
  readonly user: Row | undefined;
  readonly sessions: ReadonlyMap<string, Row>;
  readonly passkeys: ReadonlyMap<string, Row>;
  readonly memberships: ReadonlyMap<string, Row>;
}

const byId = (rows: readonly Row[]) => new Map(rows.map((row) => [String(row['id']), row]));

async function stateOf({ t, userId }: Scene): Promise<State> {
  const rows = (text: string) => t.ctx.db.read.run<Row>(text, []);
  const [user] = await rows(`SELECT * FROM users WHERE id = '${userId}'`);
  return {
    user,
    sessions: byId(
      await rows(
        `SELECT s.id, s.kind, s.session_epoch FROM sessions s JOIN users u ON u.id = s.user_id
         WHERE u.id = '${userId}' AND s.revoked_at IS NULL AND s.session_epoch = u.session_epoch
           AND u.disabled_at IS NULL`,
      ),
    ),
    passkeys: byId(await rows(`SELECT id, name FROM passkeys WHERE user_id = '${userId}'`)),
    memberships: byId(
      await rows(`SELECT organization_id AS id, role FROM memberships WHERE user_id = '${userId}'`),
    ),
  };
}

const profileFields = ['email', 'name', 'avatar_url', 'locale', 'time_zone'];

/** What services must learn about the difference between two states, one line for each event. */
function expectedEvents(before: State, after: State): string[] {
  if (!before.user) return [];
  if (!after.user) return ['account-purged'];
  const [was, is] = [before.user, after.user];
  const lines: string[] = [];
  if (was['disabled_at'] !== is['disabled_at'])
    return [is['disabled_at'] === null ? 'account-enabled' : 'account-disabled'];
  const fields = profileFields.filter((field) => was[field] !== is[field]);
  if (fields.length > 0) lines.push(`profile-changed ${fields}`);
  const isAll = was['session_epoch'] !== is['session_epoch'];
  if (isAll) lines.push('session-revoked all');
  for (const [id, { kind }] of before.sessions)
    if (!isAll && !after.sessions.has(id))
      lines.push(kind === 'key' ? `credential-change key delete ${id}` : `session-revoked ${id}`);
  for (const [id, { kind }] of after.sessions)
    if (kind === 'key' && !before.sessions.has(id)) lines.push(`credential-change key create ${id}`);
  for (const [id, { name }] of before.passkeys) {
    const now = after.passkeys.get(id);
    if (!now) lines.push('credential-change fido2-platform delete');
    else if (now['name'] !== name) lines.push('credential-change fido2-platform update');
  }
  for (const id of after.passkeys.keys())
    if (!before.passkeys.has(id)) lines.push('credential-change fido2-platform create');
  for (const id of new Set([...before.memberships.keys(), ...after.memberships.keys()])) {
    const role = after.memberships.get(id)?.['role'] ?? null;
    if (before.memberships.get(id)?.['role'] !== role) lines.push(`membership-changed ${id} ${role}`);
  }
  return lines.toSorted();
}

/** An event as a line, as above. */
function lineOf({ type, payload, subject }: ReceivedEvent): string {
  const { fields, credential_type, change_type, organization, role } = payload as {
    fields?: string[];
    credential_type?: string;
    change_type?: string;
    organization?: { id: string };
    role?: string | null;
  };
  const session = subject.session?.id;
  switch (type) {
    case 'profile-changed':
      return `${type} ${fields}`;
    case 'session-revoked':
      return `${type} ${session ?? 'all'}`;
    case 'credential-change':
      return [type, credential_type, change_type, session].filter(Boolean).join(' ');
    case 'membership-changed':
      return `${type} ${organization?.id} ${role}`;
    default:
      return type;
  }
}

const userOf = ({ subject }: ReceivedEvent): string => subject.sub ?? subject.user.sub;

/** Prepares what it needs and returns the operation itself. */
type Step = (scene: Scene) => Promise<() => Promise<unknown>>;

const asOwner =
  (method: string, path: string, json?: unknown): Step =>
  async ({ t, accessToken: token }) =>
  () =>
    t.ask(method, path, { token, ...(json === undefined ? {} : { json }) });

const asService =
  (
    method: string,
    path: (scene: Scene) => string,
    json?: unknown,
    prepare?: (scene: Scene) => Promise<unknown>,
  ): Step =>
  async (scene) => {
    await prepare?.(scene);
    const headers = { Authorization: scene.service };
    return () => scene.t.ask(method, path(scene), { headers, ...(json === undefined ? {} : { json }) });
  };

let runServices = 0;

/** A service that makes runs, with a resource of its own. */
async function runService(t: TestApp) {
  const resource = `https://service-${runServices++}.example/`;
  return { resource, ...(await declareService(t.ctx, { resource, rights: ['delegate'] })) };
}

const join = ({ t, organization, userId }: Scene) => addMember(t.ctx, organization, userId, 'member');
const memberPath = ({ organization, userId }: Scene) => `/organizations/${organization}/members/${userId}`;
const disabled = ({ t, email }: Scene) => setDisabled(t.ctx, email, true);
const userPath =
  (act: string) =>
  ({ userId }: Scene) =>
    `/users/${userId}${act}`;

const nothing: readonly Step[] = [];

/** The operations of each endpoint; `nothing` for those that end and change nothing that services care about. */
const byEndpoint: Record<keyof typeof endpoints, readonly Step[]> = {
  getUserinfo: nothing,
  postUserinfo: nothing,
  issueIdToken: nothing,
  confirmSignOut: [
    async ({ t, tokens }) =>
      () =>
        t.ask('POST', '/end_session/confirm', { token: tokens.access_token, json: {} }),
  ],
  verifyAuthorization: nothing,
  approveAuthorization: nothing,
  denyAuthorization: nothing,
  startDeviceAuthorization: nothing,
  issueToken: [
    async ({ t, tokens }) =>
      () =>
        t.deviceLogin(tokens),
    // A service takes the place of the run that was made for it.
    async ({ t, accessToken }) => {
      const { resource, authorization } = await runService(t);
      const own = await startedRun(t, accessToken, { scope: 'profile', resource });
      return () => startedRun(t, own.access_token, { by: authorization });
    },
  ],
  verifyDevice: nothing,
  challengeKey: nothing,
  approveDevice: nothing,
  denyDevice: nothing,
  startPasskeyRegistration: nothing,
  registerPasskey: [
    async ({ t, tokens }) =>
      () =>
        addPasskey(t, tokens, newAuthenticator(t)),
  ],
  startPasskeyLogin: nothing,
  loginWithPasskey: [
    async ({ t, tokens }) => {
      const passkey = newAuthenticator(t);
      await addPasskey(t, tokens, passkey);
      return () => passkeyLogin(t, passkey);
    },
  ],
  listPasskeys: nothing,
  renamePasskey: [
    async ({ t, tokens, accessToken }) => {
      const { body } = await addPasskey(t, tokens, newAuthenticator(t));
      return () =>
        t.api.call('renamePasskey', { accessToken, params: { id: body.id }, body: { name: 'other' } });
    },
  ],
  removePasskey: [
    async ({ t, tokens, accessToken }) => {
      const { body } = await addPasskey(t, tokens, newAuthenticator(t));
      return () => t.api.call('removePasskey', { accessToken, params: { id: body.id } });
    },
  ],
  requestMagicLink: nothing,
  previewMagicLink: nothing,
  verifyMagicLink: [
    async ({ t, email }) =>
      () =>
        signInByMail(t, email),
    // Replaces the browser's former session.
    async ({ t, email }) => {
      const cookie = await cookieByMail(t, email);
      return () => signInByMail(t, email, { session: 'cookie', headers: sameOrigin, cookie });
    },
  ],
  refresh: [
    async ({ t, tokens }) =>
      () =>
        t.ask('POST', '/refresh', { json: { refresh_token: tokens.refresh_token } }),
    // Theft.
    async ({ t, tokens }) => {
      const json = { refresh_token: tokens.refresh_token };
      await t.ask('POST', '/refresh', { json });
      t.pass(11);
      return () => t.ask('POST', '/refresh', { json });
    },
  ],
  revoke: [
    asOwner('POST', '/revoke'),
    asOwner('POST', '/revoke', { scope: 'session' }),
    async ({ t, tokens }) =>
      () =>
        t.ask('POST', '/revoke', { form: { token: tokens.refresh_token } }),
    async ({ t, tokens }) => {
      const { key: token } = await createdKey(t, tokens);
      return () => t.ask('POST', '/revoke', { form: { token } });
    },
    async ({ t, tokens }) => {
      const { key: token } = await createdKey(t, tokens);
      return () => t.ask('POST', '/revoke?scope=session', { token });
    },
  ],
  logout: [asOwner('DELETE', '/logout'), asOwner('DELETE', '/logout?scope=session')],
  getProfile: nothing,
  updateProfile: [
    asOwner('PATCH', '/me', { name: 'Another', locale: 'de' }),
    asOwner('PATCH', '/me', { locale: null }),
    // The second change of a minute goes into the same entry of the log, but is an event of its own.
    async ({ t, accessToken: token }) => {
      await t.ask('PATCH', '/me', { token, json: { name: 'One' } });
      return () => t.ask('PATCH', '/me', { token, json: { name: 'Two' } });
    },
  ],
  deleteAccount: [asOwner('DELETE', '/me')],
  requestEmailChange: [asOwner('POST', '/me/email', { email: 'requested@new.example' })],
  verifyEmailChange: [
    async ({ t, tokens, email }) => {
      const token = await askForAddress(t, tokens, `new-${email}`);
      return () => verifyAddress(t, token);
    },
    async ({ t, tokens, email }) => {
      const token = await askForAddress(t, tokens, email);
      return () => verifyAddress(t, token);
    },
  ],
  previewEmailChange: nothing,
  previewNotice: nothing,
  disownNotice: [
    // A browser with a passkey and a key of its own, and a device.
    async ({ t, email }) => {
      const { body: tokens } = await signInByMail(t, email, { peer: '198.51.100.7' });
      await addPasskey(t, tokens, newAuthenticator(t));
      await createdKey(t, tokens);
      await t.deviceLogin(tokens);
      return () => disown(t, email, subjects.newBrowser);
    },
    async ({ t, tokens, email }) => {
      await t.deviceLogin(tokens);
      return () => disown(t, email, subjects.newDevice);
    },
    // Puts an address back, which ends everything.
    async ({ t, tokens, email }) => {
      await verifyAddress(t, await askForAddress(t, tokens, `new-${email}`));
      return () => disown(t, email, subjects.emailChanged);
    },
  ],
  listOrganizations: nothing,
  putOrganization: [
    asService('PUT', ({ organization }) => `/organizations/${organization}`, { name: 'Renamed' }, join),
  ],
  deleteOrganization: [
    asService('DELETE', ({ organization }) => `/organizations/${organization}`, undefined, join),
  ],
  listMembers: nothing,
  getMember: nothing,
  putMember: [
    asService('PUT', memberPath, { role: 'member' }),
    asService('PUT', memberPath, { role: 'owner' }, join),
    asService('PUT', memberPath, { role: 'member' }, join),
  ],
  removeMember: [asService('DELETE', memberPath, undefined, join)],
  getUser: nothing,
  lookupUser: nothing,
  reportOnAddress: nothing,
  ...{ listUsers: nothing, listUserSessions: nothing, listUserEvents: nothing, listUserEmails: nothing },
  disableUser: ['/disable', '/disable'].map((act, n) =>
    asService('POST', userPath(act), undefined, n ? disabled : undefined),
  ),
  enableUser: ['/enable', '/enable'].map((act, n) =>
    asService('POST', userPath(act), undefined, n ? disabled : undefined),
  ),
  revokeUserSessions: [asService('DELETE', userPath('/sessions'))],
  revokeUserSession: [
    async ({ t, tokens, accessToken, userId, service }) => {
      await t.deviceLogin(tokens);
      const { sessions } = await t.api.call('listSessions', { accessToken });
      const other = sessions.find(({ current }) => !current)!;
      const headers = { Authorization: service };
      return () => t.ask('DELETE', `/users/${userId}/sessions/${other.id}`, { headers });
    },
  ],
  listSessions: nothing,
  revokeSession: [
    async ({ t, tokens, accessToken: token }) => {
      await t.deviceLogin(tokens);
      const { sessions } = await t.api.call('listSessions', { accessToken: token });
      const other = sessions.find(({ current }) => !current)!;
      return () => t.ask('DELETE', `/sessions/${other.id}`, { token });
    },
    async ({ t, accessToken: token }) => {
      await startedRun(t, token, { scope: 'profile' });
      const { sessions } = await t.api.call('listSessions', { accessToken: token });
      const run = sessions.find(({ kind }) => kind === 'run')!;
      return () => t.ask('DELETE', `/sessions/${run.id}`, { token });
    },
    // What is within an ended session is not announced.
    async ({ t, tokens, accessToken: token, service }) => {
      const { access_token } = await t.deviceLogin(tokens);
      await startedRun(t, access_token, { scope: 'profile' });
      const id = await idOf(t, access_token, service);
      return () => t.ask('DELETE', `/sessions/${id}`, { token });
    },
    // An approval that no device has redeemed was no session yet.
    async ({ t, accessToken: token }) => {
      const { body } = await t.ask('POST', '/device');
      await t.ask('POST', '/device/approve', { token, json: { user_code: body.user_code } });
      const { body: log } = await t.ask('GET', '/events', { token });
      const approved = log.events.find(({ type }: { type: string }) => type === 'device_approved');
      const id = approved.detail.session_id;
      return () => t.ask('DELETE', `/sessions/${id}`, { token });
    },
  ],
  introspect: nothing,
  readFeed: nothing,
  createKey: [
    async ({ t, tokens }) =>
      () =>
        createdKey(t, tokens),
  ],
  listKeys: nothing,
  removeKey: [
    async ({ t, tokens, accessToken: token }) => {
      const { id } = await createdKey(t, tokens);
      return () => t.ask('DELETE', `/keys/${id}`, { token });
    },
  ],
  listScopes: nothing,
  listEvents: nothing,
};

const byOperator: Readonly<Record<string, Step>> = {
  'users disable':
    async ({ t, email }) =>
    () =>
      setDisabled(t.ctx, email, true),
  'users enable': async ({ t, email }) => {
    await setDisabled(t.ctx, email, true);
    return () => setDisabled(t.ctx, email, false);
  },
  'users sign-out':
    async ({ t, userId }) =>
    () =>
      revokeAllSessions(t.ctx, userId, 'operator'),
  // Ends the runs that the service acts in, each on its own.
  'services revoke': async ({ t, accessToken }) => {
    const { id, authorization } = await runService(t);
    for (let n = 0; n < 2; n++) await startedRun(t, accessToken, { scope: 'profile', by: authorization });
    return () => revokeService(t.ctx, id);
  },
  'users delete':
    async ({ t, email }) =>
    () =>
      deleteAccount(t.ctx, email),
};

/** Operations that change nothing in the end. */
const withoutEvents = new Set([
  'issueToken 1',
  'loginWithPasskey 1',
  'verifyMagicLink 1',
  'refresh 1',
  'requestEmailChange 1',
  'verifyEmailChange 2',
  'putOrganization 1',
  'putMember 3',
  'revokeSession 4',
  'updateProfile 2',
  'disableUser 2',
  'enableUser 1',
]);

const steps = [
  ...Object.entries(byEndpoint).flatMap(([id, all]) =>
    all.map((step, n) => [`${id} ${n + 1}`, step] as const),
  ),
  ...Object.entries(byOperator),
];

onBothDatabases('the causes of events', (open) => {
  const t = shared(open);
  let reader: FeedService;
  let service: string;
  beforeAll(async () => {
    reader = await feedService(t, 'organizations');
    service = await t.serviceAuthorization('organizations', 'operate');
  });
  let accounts = 0;

  for (const [name, step] of steps) {
    test(`services learn what ${name} ends and changes, once, and nothing else`, async () => {
      const n = accounts++;
      const email = `p${n}@example.com`;
      const tokens = await t.login(email);
      const accessToken = tokens.access_token;
      const organization = `org-${n}`;
      await createOrganization(t.ctx, organization, 'Acme');
      const { id: userId } = await t.api.call('getProfile', { accessToken });
      const scene = { t, email, userId, tokens, accessToken, organization, service };
      const operate = await step(scene);
      await reader.read();
      const before = await stateOf(scene);
      await operate();
      const after = await stateOf(scene);
      const received = (await reader.read()).filter((event) => userOf(event) === userId);
      const lines = received.map(lineOf).toSorted();
      expect(lines).toEqual(expectedEvents(before, after));
      expect([name, lines.length === 0]).toEqual([name, withoutEvents.has(name)]);
    });
  }

  test('an operation that fails announces nothing', async () => {
    const { access_token: token } = await t.login('failing@example.com');
    await reader.read();
    const refused = await t.ask('PATCH', '/me', {
      token,
      json: { name: 'x' },
      headers: { 'If-Match': '"other"' },
    });
    expect(refused.status).toBe(412);
    expect((await t.ask('DELETE', '/sessions/ses_unknown', { token })).status).toBe(404);
    expect(await linkTokenFor(t, 'failing@example.com')).not.toBe('');
    expect(await reader.read()).toEqual([]);
  });
});
