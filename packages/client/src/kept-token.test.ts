import { expect, test } from 'bun:test';
import { codeOf } from '#support/client.ts';
import { turns } from '#support/until.ts';
import { keepToken } from './kept-token.ts';

/** A source of tokens `1`, `2`, … on a clock of its own, in milliseconds. */
function source(expires_in: number) {
  const state = { now: 0, made: 0 };
  const kept = keepToken(
    async (signal) => {
      await turns(1);
      signal.throwIfAborted();
      return { access_token: String(++state.made), token_type: 'Bearer', expires_in } as never;
    },
    () => state.now,
  );
  return { state, kept };
}

test.each([
  [900, 840],
  [60, 30],
])('a token of %i s is kept for %i s, and then made anew once for all', async (lifetime, kept) => {
  const { state, kept: token } = source(lifetime);
  expect(await Promise.all([token.accessToken(), token.accessToken()])).toEqual(['1', '1']);
  state.now = kept * 1000 - 1;
  expect(await token.accessToken()).toBe('1');
  state.now++;
  expect(await Promise.all([token.accessToken(), token.accessToken()])).toEqual(['2', '2']);
});

test('a rejected token is replaced once, however many requests were rejected with it', async () => {
  const { state, kept } = source(900);
  await kept.accessToken();
  expect(await Promise.all([kept.renew('1'), kept.renew('1')])).toEqual(['2', '2']);
  expect(await kept.renew('1')).toBe('2');
  expect([await kept.renew('2'), state.made]).toEqual(['3', 3]);
});

test('a caller that leaves takes only itself away', async () => {
  const { kept } = source(900);
  const leaving = new AbortController();
  const [left, stayed] = [codeOf(kept.accessToken(leaving.signal)), kept.accessToken()];
  leaving.abort();
  expect([await left, await stayed]).toEqual(['aborted', '1']);
});
