import { expect, test } from 'bun:test';
import { cookieByMail, isLive, outcome, sameOrigin, sessionCookieIn } from '#support/account.ts';
import { useEverything } from '#support/account-operations.ts';
import { prepareAccount, prepareDatabase } from '#support/account-scene.ts';
import { onBothDatabases, type TestApp, type Tokens } from '#support/app.ts';
import { handlePrefix, readHandle } from './handle.ts';
import { generateKey, type KeyRing, parseKeyRing } from './primitives.ts';

const [older, newer] = [generateKey(), generateKey()];

onBothDatabases('key ring rotation', (open) => {
  /** A node with the older key only, and a function that starts another node on its database under another ring. */
  async function rotate() {
    const before = await open({ settings: { LATCHKEY_KEYS: older } });
    const under = (keys: string) => open({ beside: before, settings: { LATCHKEY_KEYS: keys } });
    return { before, under };
  }

  const refresh = (app: TestApp, refresh_token: string) =>
    app.ask('POST', '/refresh', { json: { refresh_token } });
  const signedBy = (keys: KeyRing, tokens: Tokens) =>
    readHandle(keys, 'accessToken', tokens.access_token) !== undefined &&
    readHandle(keys, 'refreshToken', tokens.refresh_token) !== undefined;

  test('tokens, codes and links under an older key of the ring stay good, and a refresh moves tokens to the newest key', async () => {
    const { before, under } = await rotate();
    const scene = await prepareAccount(before, await prepareDatabase(before));
    const { tokens } = scene.device;
    expect(signedBy(parseKeyRing(older), tokens)).toBe(true);

    const after = await under(`${newer},${older}`);
    const answers = await useEverything(after, scene);
    // The retry of a refresh returns the same successor.
    const keys = parseKeyRing(`${newer},${older}`);
    const [first, again] = [tokens, answers.get('refresh repeated')!.body].map(
      ({ refresh_token }) => readHandle(keys, 'refreshToken', refresh_token)!,
    );
    expect([again!.value, again!.subject]).toEqual([first!.value, first!.subject]);
    for (const name of ['refresh', 'issueToken'])
      expect([name, signedBy(parseKeyRing(newer), answers.get(name)!.body)]).toEqual([name, true]);

    const { body } = await refresh(after, (await before.login()).refresh_token);
    const retired = await under(newer);
    expect(await isLive(retired, body)).toBe(true);
    expect(outcome(await refresh(retired, body.refresh_token))).toBe('200');
  });

  // Keys that left the ring: tests/processes/operator-keys.test.ts.
  test('a session cookie under an older key stays valid and is replaced by one under the newest key', async () => {
    const { before, under } = await rotate();
    const cookie = await cookieByMail(before, 'grace@example.com');
    /** The outcome of a request with a cookie, and the cookie that it renews. */
    const use = async (node: TestApp, sent: string) => {
      const answer = await node.ask('GET', '/me', { cookie: sent, headers: sameOrigin });
      return [outcome(answer), sessionCookieIn(answer)];
    };
    expect(await use(before, cookie)).toEqual(['200', '']);
    const [status, renewed = ''] = await use(await under(`${newer},${older}`), cookie);
    expect([status, renewed]).toEqual(['200', expect.stringContaining(handlePrefix.browserSession)]);
    const retired = await under(newer);
    expect(await use(retired, cookie)).toEqual(['401 invalid_token', '']);
    expect(await use(retired, renewed)).toEqual(['200', '']);
  });
});
