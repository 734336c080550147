import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { deviceAuthorization, pendingDevice } from '@latchkey/contract/device';
import { type Answer, onBothDatabases, type TestApp, type Tokens } from '../../../../../tests/support/app.ts';
import { mintHandle } from '../../platform/crypto/handle.ts';

setDefaultTimeout(30_000);

let people = 0;
const someone = () => `person-${people++}@example.com`;
const outcome = ({ status, body }: Answer) => (body?.error ? `${status} ${body.error}` : String(status));

const states = [
  'pending',
  'approved',
  'denied',
  'redeemed',
  'expired',
  'expired approved',
  'swept',
  'unknown',
];
const calls = ['poll', 'verify', 'approve', 'deny'] as const;
type Call = (typeof calls)[number];

const whatAPollGets: Record<string, string> = {
  pending: '400 authorization_pending',
  approved: '200',
  denied: '400 access_denied',
  redeemed: '400 invalid_grant',
  expired: '400 expired_token',
  'expired approved': '400 expired_token',
  swept: '400 expired_token',
  unknown: '400 invalid_grant',
};
const whatPendingGets = { verify: '200', approve: '204', deny: '204' };

onBothDatabases('a device login', (open) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await open({ settings: { LATCHKEY_RATE_LIMITS: 'off' } });
  });
  afterAll(() => app.close());

  interface Codes {
    device_code: string;
    user_code: string;
  }
  const start = async (json?: Record<string, string>): Promise<Codes> =>
    (await app.ask('POST', '/device', json ? { json } : {})).body;
  const call = (what: Call, { device_code, user_code }: Codes, { access_token: token }: Tokens) =>
    what === 'poll'
      ? app.ask('POST', '/token', { json: { device_code } })
      : app.ask('POST', `/device/${what}`, { json: { user_code }, token });

  /** A login in this state. */
  const inState = async (state: string): Promise<Codes> => {
    const codes = await start();
    const owner = await app.login(someone());
    if (/approved|redeemed/.test(state)) expect((await call('approve', codes, owner)).status).toBe(204);
    if (state === 'denied') expect((await call('deny', codes, owner)).status).toBe(204);
    if (state === 'redeemed') expect((await call('poll', codes, owner)).status).toBe(200);
    if (/expired/.test(state)) app.pass(600);
    if (state === 'swept') app.pass(3 * 3600);
    if (state === 'swept') await app.sweep();
    if (state !== 'unknown') return codes;
    const handle = { subject: Buffer.alloc(16, 'nobody'), value: app.ctx.clock() + 600_000 };
    return { device_code: mintHandle(app.ctx.keys, 'deviceCode', handle), user_code: 'ZZZZ-ZZZZ' };
  };

  describe.each(states)('that is %s', (state) => {
    test.each([...calls])('answers %s as the contract says, and the next call too', async (what) => {
      const codes = await inState(state);
      const viewer = await app.login(someone());
      const expected =
        what === 'poll'
          ? whatAPollGets[state]
          : state === 'pending'
            ? whatPendingGets[what]
            : '400 invalid_grant';
      expect(outcome(await call(what, codes, viewer))).toBe(expected!);
      if (state === 'pending') return;
      // A call that was refused has changed nothing.
      const then = what === 'poll' && state === 'approved' ? '400 invalid_grant' : whatAPollGets[state];
      expect(outcome(await call('poll', codes, viewer))).toBe(then!);
    });
  });

  test('starts with everything a client needs', async () => {
    const { status, body } = await app.ask('POST', '/device');
    expect(status).toBe(200);
    deviceAuthorization.strict().parse(body);
    expect(body).toMatchObject({ expires_in: 600, interval: 5 });
    expect(body.device_code).toMatch(/^lk_dc_/);
    expect(body.user_code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    expect(body.verification_uri).toBe('http://localhost:8787/device');
    expect(body.verification_uri_complete).toBe(`http://localhost:8787/device?user_code=${body.user_code}`);
  });

  test('shows who asks, in unverified words, and looking changes nothing', async () => {
    const json = { client_id: 'cli', client_name: 'Latchkey <b>CLI</b>', device_name: 'büro', scope: 'all' };
    const asked = await app.ask('POST', '/device', {
      json,
      peer: '198.51.100.7',
      headers: { 'User-Agent': 'latchkey/1.0' },
    });
    const viewer = await app.login(someone());
    const view = (peer: string) =>
      app.ask('POST', '/device/verify', {
        json: { user_code: asked.body.user_code },
        token: viewer.access_token,
        peer,
      });
    for (const [peer, same] of [
      ['198.51.100.200', true],
      ['203.0.113.1', false],
    ] as const) {
      const { status, body } = await view(peer);
      expect(status).toBe(200);
      pendingDevice.strict().parse(body);
      expect(body).toMatchObject({
        user_code: asked.body.user_code,
        client_name: 'Latchkey <b>CLI</b>',
        device_name: 'büro',
        ip_address: '198.51.100.7',
        user_agent: 'latchkey/1.0',
        same_network: same,
      });
      expect(body.expires_in).toBeGreaterThan(590);
      expect(body.expires_in).toBeLessThanOrEqual(600);
    }
    expect(outcome(await call('poll', asked.body, viewer))).toBe('400 authorization_pending');
    expect(outcome(await call('approve', asked.body, await app.login(someone())))).toBe('204');
  });

  test.each<[string, (code: string) => string]>([
    ['in small letters', (code) => code.toLowerCase()],
    ['without its hyphen', (code) => code.replace('-', '')],
    ['with a space for the hyphen', (code) => code.replace('-', ' ')],
    ['with spaces around it', (code) => `  ${code}\t`],
    ['letter by letter', (code) => [...code.replace('-', '')].join('-')],
    [
      'in mixed letters with spaces',
      (code) => [...code].map((c, i) => (i % 2 ? c : ` ${c.toLowerCase()}`)).join(''),
    ],
  ])('takes its code %s', async (_, spell) => {
    const viewer = await app.login(someone());
    for (const what of ['verify', 'approve', 'deny'] as const) {
      const codes = await start();
      const answer = await call(what, { ...codes, user_code: spell(codes.user_code) }, viewer);
      expect(outcome(answer)).toBe(whatPendingGets[what]);
      if (what === 'verify') expect(answer.body.user_code).toBe(codes.user_code);
    }
  });

  test.each([
    'BCDF-GHJ',
    'BCDF-GHJKL',
    'AAAA-AAAA',
    '1234-5678',
    '---',
    ' ',
    'BCDF_GHJK',
    'ＢＣＤＦ-ＧＨＪＫ',
  ])('is not found by %s, as by any unknown code', async (user_code) => {
    const viewer = await app.login(someone());
    for (const what of ['verify', 'approve', 'deny'] as const) {
      expect(outcome(await call(what, { device_code: '', user_code }, viewer))).toBe('400 invalid_grant');
    }
  });

  test.each([{}, { user_code: '' }, { user_code: 5 }, { user_code: null }, { user_code: 'B'.repeat(65) }])(
    'refuses %j as malformed',
    async (json) => {
      const { access_token: token } = await app.login(someone());
      for (const what of ['verify', 'approve', 'deny'] as const) {
        expect(outcome(await app.ask('POST', `/device/${what}`, { json, token }))).toBe(
          '400 invalid_request',
        );
      }
    },
  );

  test('is decided once, whoever races to decide it', async () => {
    const [ada, grace] = [await app.login(someone()), await app.login(someone())];
    for (let round = 0; round < 5; round++) {
      const codes = await start();
      const answers = await Promise.all(
        Array.from({ length: 32 }, (_, i) =>
          call(i % 2 === 0 ? 'approve' : 'deny', codes, i % 4 < 2 ? ada : grace),
        ),
      );
      expect(answers.filter(({ status }) => status === 204).length).toBe(1);
      expect(answers.filter((answer) => outcome(answer) === '400 invalid_grant').length).toBe(31);
      const approved = answers.findIndex(({ status }) => status === 204) % 2 === 0;
      expect(outcome(await call('poll', codes, ada))).toBe(approved ? '200' : '400 access_denied');
    }
  });

  test('belongs to the person who approved it', async () => {
    const email = someone();
    const codes = await start();
    await call('approve', codes, await app.login(email));
    const { body } = await call('poll', codes, await app.login(someone()));
    expect((await app.ask('GET', '/me', { token: body.access_token })).body.email).toBe(email);
  });

  test('approved from one browser gets a session of its own, beside every other', async () => {
    const browser = await app.login(someone());
    const [one, two] = [await app.deviceLogin(browser), await app.deviceLogin(browser)];
    const refresh = (refresh_token: string) => app.ask('POST', '/refresh', { json: { refresh_token } });
    const list = await app.ask('GET', '/sessions', { token: one.access_token });
    expect(list.body.sessions.map(({ kind }: { kind: string }) => kind).toSorted()).toEqual([
      'browser',
      'device',
      'device',
    ]);
    const next = (await refresh(one.refresh_token)).body;
    app.pass(11);
    expect(outcome(await refresh(one.refresh_token))).toBe('400 invalid_grant');
    expect(outcome(await refresh(next.refresh_token))).toBe('400 invalid_grant');
    expect(outcome(await refresh(two.refresh_token))).toBe('200');
    expect(outcome(await refresh(browser.refresh_token))).toBe('200');
  });

  test('keeps neither of its codes in the store', async () => {
    const { user_code, device_code } = await start();
    const rows = JSON.stringify(await app.ctx.db.read.run('SELECT * FROM device_authorizations', []));
    expect(rows).not.toContain('lk_dc_');
    for (const text of [user_code, user_code.replace('-', ''), device_code.slice(6)]) {
      expect(rows).not.toContain(text);
    }
  });
});
