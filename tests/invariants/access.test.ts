// Who may call what: every endpoint with every kind of credential, against the real service. An endpoint that is added to
// the contract needs a row in the table.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Endpoint } from '@latchkey/contract/endpoint';
import { endpoints } from '@latchkey/contract/endpoints';
import { type ServiceRight, serviceRights } from '@latchkey/contract/scopes';
import { cookieByMail, newAddress, outcome, sameOrigin } from '#support/account.ts';
import {
  type AccountScene,
  prepareAccount,
  prepareDatabase,
  rowsOf,
  sessionIn,
} from '#support/account-scene.ts';
import { type Ask, onBothDatabases, openApp, type TestApp } from '#support/app.ts';
import { createdKey } from '#support/keys.ts';
import { startedRun } from '#support/runs.ts';
import { createOrganization, declareService, ticketsDeclared } from '#support/services.ts';

/** One word for each error that refuses a credential. `in` is a call that gets past them all. */
const refusals: Readonly<Record<string, string>> = {
  '403 origin_not_allowed': 'origin',
  '401 invalid_token': 'token',
  '401 insufficient_user_authentication': 'login',
  '403 insufficient_scope': 'scope',
  '401 invalid_client': 'client',
  '403 unauthorized_client': 'right',
};

/**
 * `browser`: a browser session with a recent sign-in. `old`: the same without one. `device`: a device with every scope.
 * `profile`, `email`, `organizations`, `tickets`: devices with that scope. `bound`: a device with every scope that is bound
 * to a resource. `key`, `narrow`, `key@`: a key with every scope, with the scope profile, and bound to a resource. `cookie`:
 * a browser session in a cookie. `service`, `rights`: a service key without rights and with all of them. `run@`: a run that is bound
 * to a resource. `actor`: a token of a service that acts for no user. `allowed`, `foreign`: a cookie from a page of an allowed origin,
 * and of any other.
 */
const table = `
  none    browser old     device  profile email   organiz tickets bound   key     narrow  key@    cookie  service rights  run@    actor   allowed foreign
verifyAuthorization, approveAuthorization, denyAuthorization:
  token   in      in      login   scope   scope   scope   scope   scope   login   scope   scope   in      token   token   scope   scope   origin  origin
getUserinfo, postUserinfo, issueIdToken:
  token   scope   scope   scope   scope   scope   scope   scope   scope   scope   scope   scope   scope   token   token   scope   scope   scope   origin
confirmSignOut:
  origin  in      in      in      scope   scope   scope   scope   scope   in      scope   scope   in      origin  origin  scope   scope   origin  origin
startDeviceAuthorization, startDeviceAuthorization form, issueToken, issueToken form, startPasskeyLogin,
loginWithPasskey, requestMagicLink, verifyMagicLink, previewMagicLink, refresh, refresh form, revoke form,
previewNotice, disownNotice:
  in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in
verifyDevice, denyDevice, challengeKey:
  token   in      in      login   scope   scope   scope   scope   scope   login   scope   scope   in      token   token   scope   scope   in      origin
approveDevice, startPasskeyRegistration, removePasskey, deleteAccount, requestEmailChange, createKey:
  token   in      login   login   scope   scope   scope   scope   scope   login   scope   scope   in      token   token   scope   scope   in      origin
registerPasskey, listPasskeys, renamePasskey, revoke, logout, listSessions, revokeSession, updateProfile,
previewEmailChange, listEvents, listKeys, removeKey, listScopes:
  token   in      in      in      scope   scope   scope   scope   scope   in      scope   scope   in      token   token   scope   scope   in      origin
revoke own, logout own, revokeSession own:
  token   in      in      in      in      in      in      in      in      in      in      in      in      token   token   in      scope   in      origin
getProfile:
  token   in      in      in      in      in      scope   scope   scope   in      in      scope   in      token   token   scope   scope   in      origin
verifyEmailChange:
  in      in      in      in      scope   scope   scope   scope   scope   in      scope   scope   in      in      in      scope   scope   in      origin
listOrganizations:
  token   in      in      in      scope   scope   in      scope   scope   in      scope   scope   in      token   token   scope   scope   in      origin
putOrganization, deleteOrganization, listMembers, getMember, putMember, removeMember, getUser, lookupUser,
listUsers, listUserSessions, listUserEvents, reportOnAddress, listUserEmails, disableUser, enableUser,
revokeUserSessions, revokeUserSession, readFeed:
  client  client  client  client  client  client  client  client  client  client  client  client  client  right   in      client  client  client  client
introspect, introspect form:
  client  client  client  client  client  client  client  client  client  client  client  client  client  in      in      client  client  client  client
`;

const columns = table.trim().split('\n', 1)[0]!.split(/ +/) as Column[];

/** What each credential gets, by what is called: an endpoint, its form, or its way to end the own session. */
const rows = [...table.matchAll(/^(\w[^:]*):\n +(.*)$/gm)].flatMap(([, names = '', cells = '']) =>
  names.split(/,\s/).map((row) => [row, cells.split(/ +/)] as const),
);

const unknownId = (prefix: string) => `${prefix}_${'A'.repeat(22)}`;
const code = { user_code: 'BBBB-BBBB' };
const noSuch = { lets: '404 not_found' };
const noGrant = { lets: '400 invalid_grant' };
/** The credential comes before the body, so a body that is refused shows that the credential was accepted. */
const noBody = { json: {}, lets: '400 invalid_request' };

interface Try extends Pick<Ask, 'json' | 'form'> {
  readonly query?: string;
  /** The outcome of a call that gets in. Default: the success status of the endpoint. */
  readonly lets?: string;
  /** The call ends sessions, so each credential is made for it alone. */
  readonly ends?: true;
}

/** The rows that name something that does not exist, and send no body. */
const ofNothing = [
  ...['removePasskey', 'revokeSession', 'removeKey', 'deleteOrganization', 'getMember', 'removeMember'],
  ...['getUser', 'listUserSessions', 'listUserEvents', 'listUserEmails', 'disableUser', 'enableUser'],
  ...['revokeUserSessions', 'revokeUserSession'],
];

/** What each row sends. A row without an entry sends no body. */
const tries: Readonly<Record<string, Try>> = {
  ...Object.fromEntries(ofNothing.map((row) => [row, noSuch])),
  'startDeviceAuthorization form': { form: { client_id: 'cli' } },
  issueToken: { json: { device_code: 'lk_dc_unknown' }, ...noGrant },
  'issueToken form': { form: { grant_type: 'refresh_token', refresh_token: 'lk_rt_x' }, ...noGrant },
  verifyAuthorization: noBody,
  approveAuthorization: noBody,
  denyAuthorization: noBody,
  issueIdToken: { json: { audience: 'sts.cloud.example' } },
  confirmSignOut: { json: { id_token_hint: '' }, lets: '400 invalid_request' },
  verifyDevice: { json: code, ...noGrant },
  approveDevice: { json: code, ...noGrant },
  denyDevice: { json: code, ...noGrant },
  registerPasskey: noBody,
  loginWithPasskey: noBody,
  renamePasskey: { json: { name: 'mine' }, ...noSuch },
  requestMagicLink: { json: { email: 'grace@example.com' } },
  verifyMagicLink: { json: { token: 'lk_ml_unknown' }, ...noGrant },
  previewMagicLink: { json: { token: 'lk_ml_unknown' }, ...noGrant },
  refresh: { json: { refresh_token: 'lk_rt_unknown' }, ...noGrant },
  'refresh form': { form: { grant_type: 'refresh_token', refresh_token: 'lk_rt_unknown' }, ...noGrant },
  revoke: { ends: true },
  'revoke form': { form: { token: 'unknown' } },
  'revoke own': { json: { scope: 'session' }, ends: true },
  logout: { ends: true },
  'logout own': { query: '?scope=session', ends: true },
  'revokeSession own': { ends: true },
  updateProfile: { json: {} },
  deleteAccount: { ends: true },
  requestEmailChange: { json: { email: 'new@example.com' } },
  verifyEmailChange: { json: { token: 'lk_ec_unknown' }, ...noGrant },
  previewEmailChange: { json: { token: 'lk_ec_unknown' }, ...noGrant },
  previewNotice: { json: { token: 'lk_nm_unknown' }, ...noGrant },
  disownNotice: { json: { token: 'lk_nm_unknown' }, ...noGrant },
  challengeKey: { json: { name: 'build', scope: '*', expires_in: 3_600 } },
  createKey: { json: { name: 'build', scope: '*', expires_in: 3_600 } },
  putOrganization: { json: { name: 'Acme' } },
  putMember: { json: { role: 'member' }, ...noSuch },
  lookupUser: { json: { email: 'unknown@example.com' }, ...noSuch },
  reportOnAddress: { json: { email: 'unknown@example.com' } },
  introspect: { json: { token: 'unknown' } },
  'introspect form': { form: { token: 'unknown' } },
  readFeed: { json: { returnImmediately: true } },
};

const endpointOf = (row: string): Endpoint => endpoints[row.split(' ')[0] as keyof typeof endpoints];

/** What names the row's target, in the path of its endpoint. */
function pathOf(row: string, ownId: string): string {
  const { path } = endpointOf(row);
  const prefix = row.startsWith('removeKey') ? 'key' : row.includes('Passkey') ? 'pk' : 'ses';
  return path
    .slice('/api/v1/auth'.length)
    .replace('{id}', row.endsWith(' own') ? ownId : unknownId(prefix))
    .replace('{slug}', row === 'deleteOrganization' ? 'unknown' : 'acme')
    .replace('{user_id}', unknownId('usr'));
}

const { resource } = ticketsDeclared;
const allowedOrigin = 'https://dashboard.example';
const settings = { LATCHKEY_ALLOWED_ORIGINS: allowedOrigin };

type Credentials = Awaited<ReturnType<typeof credentialsOf>>;
type Column = keyof Credentials['makers'];

/** What makes credentials of every kind, each for an account of its own. */
async function credentialsOf(app: TestApp) {
  await declareService(app.ctx, ticketsDeclared);
  await createOrganization(app.ctx, 'acme', 'Acme');
  const login = () => app.login(newAddress());
  const bearer = (token: string): Ask => ({ token });
  const device = async (access: object = {}) =>
    bearer((await app.deviceLogin(await login(), access)).access_token);
  const key = async (access: object = {}) => bearer((await createdKey(app, await login(), access)).key);
  const cookie = async (headers: Record<string, string>): Promise<Ask> => ({
    cookie: await cookieByMail(app, newAddress()),
    headers,
  });
  const service = async (...rights: ServiceRight[]): Promise<Ask> => ({
    headers: { Authorization: await app.serviceAuthorization(...rights) },
  });
  const makers = {
    none: async (): Promise<Ask> => ({}),
    browser: async () => bearer((await login()).access_token),
    old: async () => {
      const { access_token } = await login();
      app.pass(901);
      return bearer(access_token);
    },
    device: () => device(),
    profile: () => device({ scope: 'profile' }),
    email: () => device({ scope: 'email' }),
    organiz: () => device({ scope: 'organizations' }),
    tickets: () => device({ scope: 'tickets:read' }),
    bound: () => device({ resource }),
    key: () => key(),
    narrow: () => key({ scope: 'profile' }),
    'key@': () => key({ resource }),
    cookie: () => cookie(sameOrigin),
    service: () => service(),
    rights: () => service(...serviceRights),
    'run@': async () => {
      const { access_token } = await login();
      return bearer((await startedRun(app, access_token, { scope: 'profile', resource })).access_token);
    },
    actor: async () => {
      const { authorization: Authorization } = await declareService(app.ctx, { reach: [resource] });
      const form = { grant_type: 'client_credentials', scope: 'tickets:read', resource };
      const { body } = await app.ask('POST', '/token', { form, headers: { Authorization } });
      return bearer(body.access_token);
    },
    allowed: () => cookie({ Origin: allowedOrigin }),
    foreign: () => cookie({ Origin: 'https://evil.example' }),
  };
  return { app, makers };
}

/** One of each. The old one first: making it takes time. */
async function oneOfEach({ makers }: Credentials): Promise<ReadonlyMap<Column, Ask>> {
  const made = new Map<Column, Ask>([['old', await makers.old()]]);
  for (const column of columns) if (column !== 'old') made.set(column, await makers[column]());
  return made;
}

describe('the table of access', () => {
  test('has a word in each column', () => {
    for (const [row, cells] of rows) expect([row, cells.length]).toEqual([row, columns.length]);
  });

  test('has a row for every endpoint, its form, and its way to end the own session', () => {
    const needed = Object.values<Endpoint>(endpoints).flatMap(({ id, form, endsOwnSession }) => [
      id,
      ...(form ? [`${id} form`] : []),
      ...(endsOwnSession ? [`${id} own`] : []),
    ]);
    expect(rows.map(([row]) => row).toSorted()).toEqual(needed.toSorted());
    expect(Object.keys(tries).filter((row) => !rows.some(([name]) => name === row))).toEqual([]);
  });
});

test('a service needs one of the rights that an endpoint names, and no other will do', async () => {
  const { app } = await credentialsOf(await openApp('sqlite'));
  const byRight = new Map<string, string>();
  for (const right of serviceRights) byRight.set(right, await app.serviceAuthorization(right));
  for (const { id, method, rights } of Object.values<Endpoint>(endpoints)) {
    const { json, form } = tries[id] ?? {};
    const body = { ...(json !== undefined && { json }), ...(form !== undefined && { form }) };
    for (const [right, Authorization] of rights ? byRight : []) {
      const headers = { Authorization };
      const answer = await app.ask(method.toUpperCase(), pathOf(id, ''), { ...body, headers });
      const isRefused = outcome(answer) === '403 unauthorized_client';
      expect([id, right, isRefused]).toEqual([id, right, !rights?.some((one) => one === right)]);
    }
  }
});

test('at every endpoint with an id, what another account has, has ended or is of another kind is answered as what does not exist, and stays; an unknown organization has no members', async () => {
  const app = await openApp('sqlite');
  const service = await prepareDatabase(app);
  const [own, other] = [await prepareAccount(app, service), await prepareAccount(app, service)];
  const thingsOf = ({ device, key, passkeyId }: AccountScene) =>
    Object.entries({ sessions: device.id, keys: key.id, passkeys: passkeyId });
  const ended = sessionIn(app, { token: (await app.login(own.email)).access_token })!;
  await rowsOf(app, `UPDATE sessions SET revoked_at = 1 WHERE id = '${ended}'`);
  const content = async () => [
    await rowsOf(app, 'SELECT id, revoked_at FROM sessions ORDER BY id'),
    await rowsOf(app, 'SELECT * FROM passkeys ORDER BY id'),
  ];
  const before = await content();
  for (const { id, method, path, access } of Object.values<Endpoint>(endpoints)) {
    if (!/\{(session_)?id\}$/.test(path)) continue;
    const ofOthers = thingsOf(other).map(([, thing]) => thing);
    const ofOtherKinds = thingsOf(own).flatMap(([kind, thing]) => (path.includes(kind) ? [] : [thing]));
    const by =
      access === 'service' ? { headers: { Authorization: service } } : { token: own.tokens.access_token };
    const answers: object[] = [];
    for (const thing of ['unknown', unknownId('ses'), ended, ...ofOthers, ...ofOtherKinds]) {
      const at = path.slice('/api/v1/auth'.length).replace('{user_id}', own.userId);
      const json = id === 'renamePasskey' && { json: { name: 'mine' } };
      const { status, body } = await app.ask(method.toUpperCase(), at.replace(/\{\w+\}/, thing), {
        ...by,
        ...json,
      });
      answers.push({ status, ...body, request_id: '' });
    }
    expect([id, answers]).toEqual([id, answers.map(() => answers[0]!)]);
    expect([id, answers[0]]).toMatchObject([id, { status: 404, error: 'not_found' }]);
  }
  for (const { id, method, path } of Object.values<Endpoint>(endpoints)) {
    if (!path.includes('{slug}') || id === 'putOrganization') continue;
    const at = pathOf(id, '').replace('acme', 'nowhere').replace(unknownId('usr'), own.userId);
    const { json } = tries[id] ?? {};
    const sent = { headers: { Authorization: service }, ...(json !== undefined && { json }) };
    expect([id, outcome(await app.ask(method.toUpperCase(), at, sent))]).toEqual([id, '404 not_found']);
  }
  expect(await content()).toEqual(before);
});

onBothDatabases('access', (open) => {
  let lasting: Credentials;
  let single: Credentials;
  let shared: ReadonlyMap<Column, Ask>;
  beforeAll(async () => {
    lasting = await credentialsOf(await open({ settings }));
    shared = await oneOfEach(lasting);
    single = await credentialsOf(await open({ settings }));
  });
  afterAll(async () => {
    await lasting.app.close();
    await single.app.close();
  });

  test.each(rows)('to %s is as the table says', async (row, words) => {
    const { query = '', lets, ends, ...body } = tries[row] ?? {};
    const { method, status, formStatus = status } = endpointOf(row);
    const success = lets ?? String(body.form === undefined ? status : formStatus);
    const cells: string[] = [];
    for (const column of columns) {
      const { app } = ends ? single : lasting;
      const credential = ends ? await single.makers[column]() : shared.get(column)!;
      const path = pathOf(row, sessionIn(app, credential) ?? unknownId('ses')) + query;
      const ask = (sent: Ask) => app.ask(method.toUpperCase(), path, { ...credential, ...sent });
      const found = outcome(await ask(body));
      cells.push(found === success ? 'in' : (refusals[found] ?? found));
      // The credential is checked before the body is read, which may have a passkey in place of a recent sign-in.
      if (found in refusals && body.json !== undefined && column !== 'old') {
        const headers = { ...credential.headers, 'Content-Type': 'application/json' };
        expect([column, outcome(await ask({ raw: '{', headers }))]).toEqual([column, found]);
      }
    }
    const named = (cells: readonly string[]) =>
      Object.fromEntries(columns.map((column, n) => [column, cells[n]]));
    expect(named(cells)).toEqual(named(words));
  });

  test('the table has a column for every kind of credential', () => {
    expect(columns).toEqual(Object.keys(lasting.makers) as Column[]);
  });

  test('the credentials that were refused and let in are all still valid', async () => {
    for (const [column, credential] of shared) {
      if (column === 'none' || column === 'service' || column === 'rights') continue;
      const answer = await lasting.app.ask('GET', '/me', credential);
      expect([column, answer.status]).not.toEqual([column, 401]);
    }
  });
});
