// Every operation that writes to an account, alone: it succeeds and writes its changes, one that ends everything leaves
// nothing, and services learn what it ends and changes, in its transaction. What must be announced is derived from the
// database before and after, so a cause that is forgotten fails here.

import { beforeAll, expect, test } from 'bun:test';
import { askForAddress, changeAddress, disown, subjects } from '#support/account.ts';
import { digestWindowSeconds, hasWritten, operations, redeemAs, sweep } from '#support/account-operations.ts';
import {
  type AccountScene,
  prepareAccount,
  prepareDatabase,
  rowsOf,
  tokenOf,
} from '#support/account-scene.ts';
import { type Answer, onBothDatabases, type TestApp } from '#support/app.ts';
import { type FeedService, feedService, type ReceivedEvent } from '#support/feed.ts';
import { idOf, startedRun } from '#support/runs.ts';
import { declareService } from '#support/services.ts';
import { shared } from '#support/shared.ts';
import { until } from '#support/until.ts';
import { setDisabled } from '../../packages/server/src/identity/account/account.ts';
import { revokeService } from '../../packages/server/src/sessions/ending.ts';

type Row = Record<string, string | number | null>;

interface State {
  readonly user: Row | undefined;
  readonly sessions: ReadonlyMap<string, Row>;
  readonly passkeys: ReadonlyMap<string, Row>;
  readonly memberships: ReadonlyMap<string, Row>;
}

const byId = (rows: readonly Row[]) => new Map(rows.map((row) => [String(row['id']), row]));

async function stateOf(t: TestApp, { userId }: AccountScene): Promise<State> {
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
    passkeys: byId(await rows(`SELECT id, name, transports FROM passkeys WHERE user_id = '${userId}'`)),
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
  const passkeyLine = ({ transports }: Row, change: string) =>
    `credential-change fido2-${String(transports).includes('internal') ? 'platform' : 'roaming'} ${change}`;
  for (const [id, passkey] of before.passkeys) {
    const now = after.passkeys.get(id);
    if (!now) lines.push(passkeyLine(passkey, 'delete'));
    else if (now['name'] !== passkey['name']) lines.push(passkeyLine(passkey, 'update'));
  }
  for (const [id, passkey] of after.passkeys)
    if (!before.passkeys.has(id)) lines.push(passkeyLine(passkey, 'create'));
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

const caep = 'https://schemas.openid.net/secevent/caep/event-type/';
const risc = 'https://schemas.openid.net/secevent/risc/event-type/';

/** What the URI of an event begins with, by its type, and the members of its payload. */
const formsOf = (issuer: string): Record<string, readonly [prefix: string, members: string[]]> => ({
  'session-revoked': [caep, ['event_timestamp']],
  'credential-change': [caep, ['change_type', 'credential_type', 'event_timestamp']],
  'account-disabled': [risc, []],
  'account-enabled': [risc, []],
  'account-purged': [risc, []],
  'profile-changed': [`${issuer}/events/`, ['fields']],
  'membership-changed': [`${issuer}/events/`, ['organization', 'role']],
});

/** Requires the URI, the members and the subject that the type of an event has: the user, or a session or key of theirs. */
function requireForm(iss: string, { type, uri, payload, subject }: ReceivedEvent, userId: string): void {
  const [prefix, members] = formsOf(iss)[type]!;
  const user = { format: 'iss_sub', iss, sub: userId };
  const session = subject.session && { session: { format: 'opaque', id: expect.any(String) } };
  const isUser = type !== 'session-revoked' && !session;
  expect({ uri, members: Object.keys(payload).toSorted(), subject }).toEqual({
    ...{ uri: prefix + type, members },
    subject: isUser ? user : { format: 'complex', user, ...session },
  });
}

/** What the tests of both kinds do between two looks at the account. */
type Step = (t: TestApp, scene: AccountScene) => Promise<() => Promise<unknown>>;

const asOwner =
  (method: string, path: string, json?: object): Step =>
  async (t, { tokens }) =>
  () =>
    t.ask(method, path, { token: tokens.access_token, ...(json && { json }) });

const asService =
  (method: string, pathOf: (scene: AccountScene) => string, json?: object): Step =>
  async (t, scene) =>
  () =>
    t.ask(method, pathOf(scene), { headers: { Authorization: scene.service }, ...(json && { json }) });

const afterDisabling =
  (step: Step): Step =>
  async (t, scene) => {
    await setDisabled(t.ctx, scene.email, true);
    return step(t, scene);
  };

let runServices = 0;

/** A service that makes runs, with a resource of its own. */
async function runService(t: TestApp) {
  const resource = `https://service-${runServices++}.example/`;
  return { resource, ...(await declareService(t.ctx, { resource, rights: ['delegate'] })) };
}

const ended = async (t: TestApp, { tokens }: AccountScene, id: string): Promise<Answer> =>
  t.ask('DELETE', `/sessions/${id}`, { token: tokens.access_token });

const enable = asService('POST', ({ userId }) => `/users/${userId}/enable`);
const disable = asService('POST', ({ userId }) => `/users/${userId}/disable`);

/** What announces something else if it comes after something. */
const combined: Readonly<Record<string, Step>> = {
  'enabling by a service': afterDisabling(enable),
  'enabling by the operator': afterDisabling(
    async ({ ctx }, { email }) =>
      () =>
        setDisabled(ctx, email, false),
  ),
  'ending a run': async (t, scene) => {
    const { access_token } = await startedRun(t, scene.tokens.access_token, { scope: 'profile' });
    const id = await idOf(t, access_token, scene.service);
    return () => ended(t, scene, id);
  },
  // What is within an ended session is not announced.
  'ending a session with a run': async (t, scene) => {
    await startedRun(t, scene.device.tokens.access_token, { scope: 'profile' });
    return () => ended(t, scene, scene.device.id);
  },
  'a service that takes the place of the run that was made for it': async (t, { tokens }) => {
    const { resource, authorization } = await runService(t);
    const own = await startedRun(t, tokens.access_token, { scope: 'profile', resource });
    return () => startedRun(t, own.access_token, { by: authorization });
  },
  // Ends the runs that the service acts in, each on its own.
  'revoking a service with runs': async (t, { tokens }) => {
    const { id, authorization } = await runService(t);
    for (let n = 0; n < 2; n++)
      await startedRun(t, tokens.access_token, { scope: 'profile', by: authorization });
    return () => revokeService(t.ctx, id);
  },
  // Puts an address back, which ends everything.
  'disowning a change of address': async (t, { tokens, email }) => {
    await changeAddress(t, tokens, `newer-${email}`);
    return () => disown(t, email, subjects.emailChanged);
  },
};

/** What changes nothing, or nothing that services care about. */
const silent: Readonly<Record<string, Step>> = {
  'the value that a profile has': asOwner('PATCH', '/me', { locale: 'en' }),
  'a change that is refused': async (t, { tokens: { access_token: token } }) => {
    const headers = { 'If-Match': '"other"' };
    return () => t.ask('PATCH', '/me', { token, json: { name: 'x' }, headers });
  },
  'ending no session': asOwner('DELETE', '/sessions/ses_unknown'),
  'the address that an account has': async (t, { tokens, email }) => {
    const token = await askForAddress(t, tokens, email);
    return () => t.ask('POST', '/me/email/verify', { token: tokens.access_token, json: { token } });
  },
  'renaming an organization': asService('PUT', ({ organization }) => `/organizations/${organization}`, {
    name: 'Renamed',
  }),
  'the role that a member has': asService(
    'PUT',
    ({ organization, userId }) => `/organizations/${organization}/members/${userId}`,
    { role: 'member' },
  ),
  'disabling a disabled account': afterDisabling(disable),
  'enabling an active account': enable,
};

onBothDatabases('a write to an account', (open) => {
  const t = shared(() =>
    open({ settings: { LATCHKEY_RATE_LIMITS: `off, notices=1/${digestWindowSeconds}` } }),
  );
  let service: string;
  let reader: FeedService;
  beforeAll(async () => {
    service = await prepareDatabase(t);
    reader = await feedService(t, 'organizations');
  });

  /** Requires that services learn what an operation ends and changes, and returns it. */
  async function requireEvents(scene: AccountScene, operate: () => Promise<unknown>): Promise<string[]> {
    await reader.read();
    const before = await stateOf(t, scene);
    await operate();
    const after = await stateOf(t, scene);
    const received = (await reader.read()).filter((event) => userOf(event) === scene.userId);
    for (const event of received) requireForm(t.ctx.config.baseUrl, event, scene.userId);
    const lines = received.map(lineOf).toSorted();
    expect(lines).toEqual(expectedEvents(before, after));
    return lines;
  }

  /** The security log of an account, without ids and times. */
  const loggedIn = async ({ userId }: AccountScene): Promise<string[]> => {
    const text = `SELECT type, session_id, ip_address, detail FROM events WHERE user_id = '${userId}' ORDER BY seq`;
    return (await rowsOf(t, text)).map((row) => JSON.stringify(row));
  };

  /** Requires that an account has no active session, and nothing that becomes one without a new sign-in. */
  async function requireEnded(scene: AccountScene): Promise<void> {
    expect((await stateOf(t, scene)).sessions.size).toBe(0);
    const changes = await rowsOf<{ id: string; expires_at: string }>(
      t,
      `SELECT id, expires_at FROM email_changes WHERE user_id = '${scene.userId}'`,
    );
    const later = [
      ...[scene.approvedCode, scene.pendingDeviceCode].map((device_code) =>
        t.ask('POST', '/token', { json: { device_code } }),
      ),
      redeemAs(t, scene, scene.authorizationCode),
      ...changes.map((row) => {
        const json = { token: tokenOf(t, 'emailChange', row), current_email: scene.email };
        return t.ask('POST', '/me/email/verify', { json });
      }),
    ];
    for (const answer of later) expect((await answer).status).toBeGreaterThanOrEqual(400);
  }

  test.each(operations)(
    'succeeds, is recorded once, and services learn what it ends and changes, once: %s',
    async (name, operation) => {
      const scene = await prepareAccount(t, service);
      expect(await hasWritten(t, operation, scene.userId)).toBe(false);
      const logged = await loggedIn(scene);
      const operate = async () => {
        expect((await operation.run(t, scene, 0)).status).toBe(operation.status);
        await until(() => hasWritten(t, operation, scene.userId), `the changes of ${name}`);
      };
      // Its first event cannot be derived from what is there before and after.
      if (name === 'disable and enable') await operate();
      else await requireEvents(scene, operate);
      if (operation.ends === 'everything') await requireEnded(scene);
      const added = (await loggedIn(scene)).filter((event) => !logged.includes(event));
      expect(added).toEqual([...new Set(added)]);
    },
  );

  test.each(Object.entries(combined))('is announced once: %s', async (_, step) => {
    const scene = await prepareAccount(t, service);
    expect(await requireEvents(scene, await step(t, scene))).not.toEqual([]);
  });

  test.each(Object.entries(silent))('is not announced: %s', async (_, step) => {
    const scene = await prepareAccount(t, service);
    expect(await requireEvents(scene, await step(t, scene))).toEqual([]);
  });

  test('the sweep deletes what has expired', async () => {
    const own = await open();
    const scene = await prepareAccount(own, await prepareDatabase(own));
    await sweep.run(own, scene, 0);
    expect(await hasWritten(own, sweep, scene.userId)).toBe(true);
  });
});
