// Who may call what: every endpoint with every kind of credential, against the real service. An endpoint that is added to
// the contract needs a row in the table.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Endpoint } from '@latchkey/contract/endpoint';
import { endpoints } from '@latchkey/contract/endpoints';
import { type ServiceRight, serviceRights } from '@latchkey/contract/scopes';
import { cookieByMail, outcome, sameOrigin } from '#support/account.ts';
import { type Ask, onBothDatabases, openApp, type TestApp } from '#support/app.ts';
import { createdKey } from '#support/keys.ts';
import { startedRun } from '#support/runs.ts';
import { createOrganization, declareService } from '#support/services.ts';
import { readHandle } from '../../packages/server/src/platform/crypto/handle.ts';
import { readToken, sessionIdOf } from '../../packages/server/src/sessions/tokens.ts';

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
verifyAuthorization              token   in      in      login   scope   scope   scope   scope   scope   login   scope   scope   in      token   token   scope   scope   origin  origin
approveAuthorization             token   in      in      login   scope   scope   scope   scope   scope   login   scope   scope   in      token   token   scope   scope   origin  origin
denyAuthorization                token   in      in      login   scope   scope   scope   scope   scope   login   scope   scope   in      token   token   scope   scope   origin  origin
getUserinfo                      token   scope   scope   scope   scope   scope   scope   scope   scope   scope   scope   scope   scope   token   token   scope   scope   scope   origin
postUserinfo                     token   scope   scope   scope   scope   scope   scope   scope   scope   scope   scope   scope   scope   token   token   scope   scope   scope   origin
issueIdToken                     token   scope   scope   scope   scope   scope   scope   scope   scope   scope   scope   scope   scope   token   token   scope   scope   scope   origin
confirmSignOut                   origin  in      in      in      scope   scope   scope   scope   scope   in      scope   scope   in      origin  origin  scope   scope   origin  origin
startDeviceAuthorization         in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in
startDeviceAuthorization form    in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in
issueToken                       in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in
issueToken form                  in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in
verifyDevice                     token   in      in      login   scope   scope   scope   scope   scope   login   scope   scope   in      token   token   scope   scope   in      origin
approveDevice                    token   in      login   login   scope   scope   scope   scope   scope   login   scope   scope   in      token   token   scope   scope   in      origin
denyDevice                       token   in      in      login   scope   scope   scope   scope   scope   login   scope   scope   in      token   token   scope   scope   in      origin
startPasskeyRegistration         token   in      login   login   scope   scope   scope   scope   scope   login   scope   scope   in      token   token   scope   scope   in      origin
registerPasskey                  token   in      in      in      scope   scope   scope   scope   scope   in      scope   scope   in      token   token   scope   scope   in      origin
startPasskeyLogin                in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in
loginWithPasskey                 in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in
listPasskeys                     token   in      in      in      scope   scope   scope   scope   scope   in      scope   scope   in      token   token   scope   scope   in      origin
renamePasskey                    token   in      in      in      scope   scope   scope   scope   scope   in      scope   scope   in      token   token   scope   scope   in      origin
removePasskey                    token   in      login   login   scope   scope   scope   scope   scope   login   scope   scope   in      token   token   scope   scope   in      origin
requestMagicLink                 in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in
verifyMagicLink                  in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in
previewMagicLink                 in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in
refresh                          in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in
refresh form                     in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in
revoke                           token   in      in      in      scope   scope   scope   scope   scope   in      scope   scope   in      token   token   scope   scope   in      origin
revoke form                      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in
revoke own                       token   in      in      in      in      in      in      in      in      in      in      in      in      token   token   in      scope   in      origin
logout                           token   in      in      in      scope   scope   scope   scope   scope   in      scope   scope   in      token   token   scope   scope   in      origin
logout own                       token   in      in      in      in      in      in      in      in      in      in      in      in      token   token   in      scope   in      origin
listSessions                     token   in      in      in      scope   scope   scope   scope   scope   in      scope   scope   in      token   token   scope   scope   in      origin
revokeSession                    token   in      in      in      scope   scope   scope   scope   scope   in      scope   scope   in      token   token   scope   scope   in      origin
revokeSession own                token   in      in      in      in      in      in      in      in      in      in      in      in      token   token   in      scope   in      origin
getProfile                       token   in      in      in      in      in      scope   scope   scope   in      in      scope   in      token   token   scope   scope   in      origin
updateProfile                    token   in      in      in      scope   scope   scope   scope   scope   in      scope   scope   in      token   token   scope   scope   in      origin
deleteAccount                    token   in      login   login   scope   scope   scope   scope   scope   login   scope   scope   in      token   token   scope   scope   in      origin
requestEmailChange               token   in      login   login   scope   scope   scope   scope   scope   login   scope   scope   in      token   token   scope   scope   in      origin
verifyEmailChange                in      in      in      in      scope   scope   scope   scope   scope   in      scope   scope   in      in      in      scope   scope   in      origin
previewEmailChange               token   in      in      in      scope   scope   scope   scope   scope   in      scope   scope   in      token   token   scope   scope   in      origin
previewNotice                    in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in
disownNotice                     in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in      in
listEvents                       token   in      in      in      scope   scope   scope   scope   scope   in      scope   scope   in      token   token   scope   scope   in      origin
challengeKey                     token   in      in      login   scope   scope   scope   scope   scope   login   scope   scope   in      token   token   scope   scope   in      origin
createKey                        token   in      login   login   scope   scope   scope   scope   scope   login   scope   scope   in      token   token   scope   scope   in      origin
listKeys                         token   in      in      in      scope   scope   scope   scope   scope   in      scope   scope   in      token   token   scope   scope   in      origin
removeKey                        token   in      in      in      scope   scope   scope   scope   scope   in      scope   scope   in      token   token   scope   scope   in      origin
listScopes                       token   in      in      in      scope   scope   scope   scope   scope   in      scope   scope   in      token   token   scope   scope   in      origin
listOrganizations                token   in      in      in      scope   scope   in      scope   scope   in      scope   scope   in      token   token   scope   scope   in      origin
putOrganization                  client  client  client  client  client  client  client  client  client  client  client  client  client  right   in      client  client  client  client
deleteOrganization               client  client  client  client  client  client  client  client  client  client  client  client  client  right   in      client  client  client  client
listMembers                      client  client  client  client  client  client  client  client  client  client  client  client  client  right   in      client  client  client  client
getMember                        client  client  client  client  client  client  client  client  client  client  client  client  client  right   in      client  client  client  client
putMember                        client  client  client  client  client  client  client  client  client  client  client  client  client  right   in      client  client  client  client
removeMember                     client  client  client  client  client  client  client  client  client  client  client  client  client  right   in      client  client  client  client
getUser                          client  client  client  client  client  client  client  client  client  client  client  client  client  right   in      client  client  client  client
lookupUser                       client  client  client  client  client  client  client  client  client  client  client  client  client  right   in      client  client  client  client
listUsers                        client  client  client  client  client  client  client  client  client  client  client  client  client  right   in      client  client  client  client
listUserSessions                 client  client  client  client  client  client  client  client  client  client  client  client  client  right   in      client  client  client  client
listUserEvents                   client  client  client  client  client  client  client  client  client  client  client  client  client  right   in      client  client  client  client
reportOnAddress                  client  client  client  client  client  client  client  client  client  client  client  client  client  right   in      client  client  client  client
listUserEmails                   client  client  client  client  client  client  client  client  client  client  client  client  client  right   in      client  client  client  client
disableUser                      client  client  client  client  client  client  client  client  client  client  client  client  client  right   in      client  client  client  client
enableUser                       client  client  client  client  client  client  client  client  client  client  client  client  client  right   in      client  client  client  client
revokeUserSessions               client  client  client  client  client  client  client  client  client  client  client  client  client  right   in      client  client  client  client
revokeUserSession                client  client  client  client  client  client  client  client  client  client  client  client  client  right   in      client  client  client  client
introspect                       client  client  client  client  client  client  client  client  client  client  client  client  client  in      in      client  client  client  client
introspect form                  client  client  client  client  client  client  client  client  client  client  client  client  client  in      in      client  client  client  client
readFeed                         client  client  client  client  client  client  client  client  client  client  client  client  client  right   in      client  client  client  client
`;

const [header = '', ...rows] = table.trim().split('\n');
const columns = header.trim().split(/ +/) as Column[];

const expected = new Map(
  rows.map((row) => {
    const words = row.split(/ {2,}/);
    return [words[0]!, words.slice(1)] as const;
  }),
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

const resource = 'https://tickets.example/api';
const allowedOrigin = 'https://dashboard.example';
const settings = { LATCHKEY_ALLOWED_ORIGINS: allowedOrigin };

type Column = keyof Credentials['makers'];

/** Makes credentials of every kind, each for an account of its own. */
class Credentials {
  readonly app: TestApp;
  private people = 0;

  constructor(app: TestApp) {
    this.app = app;
  }

  async prepare(): Promise<void> {
    const scopes = [{ name: 'tickets:read', sentence: 'Read your tickets' }];
    await declareService(this.app.ctx, { scopes, resource });
    await createOrganization(this.app.ctx, 'acme', 'Acme');
  }

  readonly #login = () => this.app.login(`person-${this.people++}@example.com`);
  readonly #device = async (access: object = {}): Promise<Ask> => {
    const { access_token: token } = await this.app.deviceLogin(await this.#login(), access);
    return { token };
  };
  readonly #key = async (access: object = {}): Promise<Ask> => {
    const { key: token } = await createdKey(this.app, await this.#login(), access);
    return { token };
  };
  readonly #cookie = async (headers: Record<string, string>): Promise<Ask> => ({
    cookie: await cookieByMail(this.app, `person-${this.people++}@example.com`),
    headers,
  });
  readonly #service = async (...rights: ServiceRight[]): Promise<Ask> => ({
    headers: { Authorization: await this.app.serviceAuthorization(...rights) },
  });

  /** What makes a credential of each kind. */
  readonly makers = {
    none: async () => ({}),
    browser: async () => ({ token: (await this.#login()).access_token }),
    old: async () => {
      const { access_token: token } = await this.#login();
      this.app.pass(901);
      return { token };
    },
    device: () => this.#device(),
    profile: () => this.#device({ scope: 'profile' }),
    email: () => this.#device({ scope: 'email' }),
    organiz: () => this.#device({ scope: 'organizations' }),
    tickets: () => this.#device({ scope: 'tickets:read' }),
    bound: () => this.#device({ resource }),
    key: () => this.#key(),
    narrow: () => this.#key({ scope: 'profile' }),
    'key@': () => this.#key({ resource }),
    cookie: () => this.#cookie(sameOrigin),
    service: () => this.#service(),
    rights: () => this.#service(...serviceRights),
    'run@': async () => {
      const { access_token } = await this.#login();
      const { access_token: token } = await startedRun(this.app, access_token, {
        scope: 'profile',
        resource,
      });
      return { token };
    },
    actor: async () => {
      const { authorization } = await declareService(this.app.ctx, { reach: [resource] });
      const form = { grant_type: 'client_credentials', scope: 'tickets:read', resource };
      const { body } = await this.app.ask('POST', '/token', {
        form,
        headers: { Authorization: authorization },
      });
      return { token: body.access_token };
    },
    allowed: () => this.#cookie({ Origin: allowedOrigin }),
    foreign: () => this.#cookie({ Origin: 'https://evil.example' }),
  };

  make = (column: Column): Promise<Ask> => this.makers[column]();

  /** One of each. The old one first: making it takes time. */
  async makeAll(): Promise<ReadonlyMap<Column, Ask>> {
    const made = new Map([['old', await this.make('old')]] as [Column, Ask][]);
    for (const column of columns) if (column !== 'old') made.set(column, await this.make(column));
    return made;
  }

  /** The id of the session or key behind a credential. */
  idOf({ token, cookie }: Ask): string {
    if (token !== undefined) return readToken(this.app.ctx, token)?.sessionId ?? '';
    const value = cookie?.split('=')[1];
    const handle = value ? readHandle(this.app.ctx.keys, 'browserSession', value) : undefined;
    return handle ? sessionIdOf(handle.subject) : unknownId('ses');
  }
}

describe('the table of access', () => {
  test('has a word in each column', () => {
    for (const [row, cells] of expected) expect([row, cells.length]).toEqual([row, columns.length]);
  });

  test('has a row for every endpoint, its form, and its way to end the own session', () => {
    const needed = Object.values<Endpoint>(endpoints).flatMap(({ id, form, endsOwnSession }) => [
      id,
      ...(form ? [`${id} form`] : []),
      ...(endsOwnSession ? [`${id} own`] : []),
    ]);
    expect([...expected.keys()].toSorted()).toEqual(needed.toSorted());
    expect(Object.keys(tries).filter((row) => !expected.has(row))).toEqual([]);
  });
});

test('a service needs one of the rights that an endpoint names, and no other will do', async () => {
  const credentials = new Credentials(await openApp('sqlite'));
  await credentials.prepare();
  const { app } = credentials;
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
  await app.close();
});

onBothDatabases('access', (open) => {
  let lasting: Credentials;
  let single: Credentials;
  let shared: ReadonlyMap<Column, Ask>;
  beforeAll(async () => {
    lasting = new Credentials(await open({ settings }));
    await lasting.prepare();
    shared = await lasting.makeAll();
    single = new Credentials(await open({ settings }));
    await single.prepare();
  });
  afterAll(async () => {
    await lasting.app.close();
    await single.app.close();
  });

  test.each([...expected.keys()])('to %s is as the table says', async (row) => {
    const { query = '', lets, ends, ...body } = tries[row] ?? {};
    const { method, status, formStatus = status } = endpointOf(row);
    const success = lets ?? String(body.form === undefined ? status : formStatus);
    const cells: string[] = [];
    for (const column of columns) {
      const credentials = ends ? single : lasting;
      const credential = ends ? await single.make(column) : shared.get(column)!;
      const path = pathOf(row, credentials.idOf(credential)) + query;
      const ask = (sent: Ask) => credentials.app.ask(method.toUpperCase(), path, { ...credential, ...sent });
      const found = outcome(await ask(body));
      cells.push(found === success ? 'in' : (refusals[found] ?? found));
      // The credential is checked before the body is read, which may have a passkey in place of a recent sign-in.
      if (found in refusals && body.json !== undefined && column !== 'old') {
        const headers = { ...credential.headers, 'Content-Type': 'application/json' };
        expect([column, outcome(await ask({ raw: '{', headers }))]).toEqual([column, found]);
      }
    }
    const named = (words: readonly string[]) =>
      Object.fromEntries(columns.map((column, n) => [column, words[n]]));
    expect(named(cells)).toEqual(named(expected.get(row)!));
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
