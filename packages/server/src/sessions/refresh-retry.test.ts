import { expect, test } from 'bun:test';
import { outcome } from '../../../../tests/support/account.ts';
import { type Answer, onBothDatabases, sharedNodes, type TestApp } from '../../../../tests/support/app.ts';

const settings = { LATCHKEY_RATE_LIMITS: 'off' };
let people = 0;
const someone = () => `person-${people++}@example.com`;
const tokensOf = ({ body }: Answer) => [body.access_token, body.refresh_token];
const lastDetail = (app: TestApp) => JSON.parse(app.logs.at(-1)!).detail;

onBothDatabases('a refresh with an Idempotency-Key', (open, dialect) => {
  const { app, node } = sharedNodes(open, dialect, { settings });
  const nodes = [...new Set([app, node])];

  const refresh = (refresh_token: string, key?: string, node = app): Promise<Answer> =>
    node.ask('POST', '/refresh', {
      json: { refresh_token },
      headers: key === undefined ? {} : { 'Idempotency-Key': key },
    });

  test('64 parallel refreshes with one idempotency key get the same successor', async () => {
    const { refresh_token } = await app.login(someone());
    const before = nodes.map(({ logs }) => logs.length);
    const answers = await Promise.all(
      Array.from({ length: 64 }, (_, i) => refresh(refresh_token, 'key', nodes[i % nodes.length])),
    );
    expect(new Set(answers.map(outcome))).toEqual(new Set(['200']));
    expect(new Set(answers.map((answer) => tokensOf(answer).join())).size).toBe(1);
    const details = nodes
      .flatMap(({ logs }, n) => logs.slice(before[n]))
      .map((line) => JSON.parse(line).detail);
    const count = (detail: string) => details.filter((one) => one === detail).length;
    expect([count('rotated'), count('retry')]).toEqual([1, 63]);
    expect((await refresh(answers[0]!.body.refresh_token)).status).toBe(200);
  });

  test('a refresh can be retried for 600 s, and expires_in is the remaining lifetime of the access token', async () => {
    const { refresh_token } = await app.login(someone());
    const first = await refresh(refresh_token, 'key');
    for (const seconds of [20, 270, 300]) {
      app.pass(seconds);
      const again = await refresh(refresh_token, 'key');
      expect(outcome(again)).toBe('200');
      expect(lastDetail(app)).toBe('retry');
      expect(tokensOf(again)).toEqual(tokensOf(first));
    }
    const { expires_in } = (await refresh(refresh_token, 'key')).body;
    expect(expires_in).toBeLessThanOrEqual(14_400 - 590);
    expect(expires_in).toBeGreaterThan(14_400 - 600);

    app.pass(11);
    expect(outcome(await refresh(refresh_token, 'key'))).toBe('400 invalid_grant');
    expect(lastDetail(app)).toBe('theft');
    expect(outcome(await refresh(first.body.refresh_token))).toBe('400 invalid_grant');
  });

  test('a retry is refused once the successor is spent', async () => {
    const { refresh_token } = await app.login(someone());
    const first = (await refresh(refresh_token, 'key')).body;
    const second = await refresh(first.refresh_token, 'key');
    expect(outcome(second)).toBe('200');
    expect(second.body.refresh_token).not.toBe(first.refresh_token);
    expect(outcome(await refresh(refresh_token, 'key'))).toBe('400 invalid_grant');
  });

  test('one idempotency key can be used for every refresh of a session, each with its own successor', async () => {
    let { refresh_token } = await app.login(someone());
    const seen = new Set([refresh_token]);
    for (let i = 0; i < 5; i++) {
      const [answer, again] = [
        await refresh(refresh_token, 'the same'),
        await refresh(refresh_token, 'the same'),
      ];
      expect([outcome(answer), outcome(again)]).toEqual(['200', '200']);
      expect(tokensOf(again)).toEqual(tokensOf(answer));
      refresh_token = answer.body.refresh_token;
      seen.add(refresh_token);
    }
    expect(seen.size).toBe(6);
  });

  test('a refresh with another idempotency key, or with none, is not a retry', async () => {
    const { refresh_token } = await app.login(someone());
    const { body } = await refresh(refresh_token, 'key');
    for (const other of ['Key', 'key2', undefined]) {
      expect(outcome(await refresh(refresh_token, other))).toBe('400 invalid_grant');
      expect(lastDetail(app)).toBe('race');
    }
    app.pass(11);
    expect(outcome(await refresh(refresh_token, 'key'))).toBe('200');
    expect(outcome(await refresh(refresh_token, 'other'))).toBe('400 invalid_grant');
    expect(lastDetail(app)).toBe('theft');
    expect(outcome(await refresh(refresh_token, 'key'))).toBe('400 invalid_grant');
    expect(outcome(await refresh(body.refresh_token))).toBe('400 invalid_grant');
  });

  test('a refresh can be retried in another body format or at the other endpoint', async () => {
    const { refresh_token } = await app.login(someone());
    const first = await refresh(refresh_token, 'key');
    for (const path of ['/token', '/refresh']) {
      const again = await app.ask('POST', path, {
        form: { grant_type: 'refresh_token', refresh_token },
        headers: { 'Idempotency-Key': 'key' },
      });
      expect(outcome(again)).toBe('200');
      expect(tokensOf(again)).toEqual(tokensOf(first));
    }
  });

  test.each([
    ['empty', ''],
    ['blank', '   '],
    ['129 characters long', 'k'.repeat(129)],
    ['not ASCII', 'cl\u00e9'],
    ['not printable', 'a\tb'],
    ['a control character', 'a\u007fb'],
  ])('a refresh whose idempotency key is %s is refused and spends nothing', async (_, key) => {
    const { refresh_token } = await app.login(someone());
    expect(outcome(await refresh(refresh_token, key))).toBe('400 invalid_request');
    expect(outcome(await refresh(refresh_token))).toBe('200');
  });

  test.each([
    ['one character', 'k'],
    ['128 characters', 'k'.repeat(128)],
    ['every printable character', '!"#$%&\'()*+,-./09:;<=>?@AZ[\\]^_`az{|} ~'],
  ])('a refresh accepts an idempotency key of %s', async (_, key) => {
    const { refresh_token } = await app.login(someone());
    const first = await refresh(refresh_token, key);
    expect(outcome(first)).toBe('200');
    expect(tokensOf(await refresh(refresh_token, key))).toEqual(tokensOf(first));
  });
});
