// GET and POST /auth/end_session, which lead to a page.

import { expect, test } from 'bun:test';
import type { SignOutPage } from '@latchkey/contract/openid';
import { type Answer, openApp, type TestApp } from '#support/app.ts';
import { pageDataIn } from '#support/ask.ts';
import { declareService } from '#support/services.ts';

const saidBy = pageDataIn<SignOutPage>;

/** The page that a request leads to. */
async function follow(t: TestApp, answer: Answer): Promise<Answer> {
  expect(answer.status).toBe(303);
  const location = answer.headers.get('Location') ?? '';
  expect(location).toMatch(/^\/sign-out(\?|$)/);
  return t.ask('GET', location.slice(1));
}

test('a request to sign out leads to a page by GET and by POST, empty parameters count as omitted, repeated ones are refused, and nothing ends by itself', async () => {
  const t = await openApp('sqlite');
  const tokens = await t.login();
  const uri = 'https://app.example/bye?</script>';
  const { href } = new URL(uri);
  const { id } = await declareService(t.ctx, { signOutRedirectUris: [href] });
  const parameters = { client_id: id, post_logout_redirect_uri: href, state: 'a&b</script>' };
  for (const answer of [
    await follow(t, await t.ask('GET', `/end_session?${new URLSearchParams(parameters)}`)),
    await follow(t, await t.ask('POST', '/end_session', { form: parameters })),
  ]) {
    expect([answer.status, answer.headers.get('Content-Type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(saidBy(answer)).toEqual({ outcome: 'valid', parameters });
  }
  const empty = { id_token_hint: '', client_id: '', post_logout_redirect_uri: '', state: '' };
  for (const path of ['/end_session', `/end_session?${new URLSearchParams(empty)}`])
    expect([path, saidBy(await follow(t, await t.ask('GET', path)))]).toEqual([
      path,
      { outcome: 'valid', parameters: {} },
    ]);
  const twice = await follow(t, await t.ask('GET', '/end_session?state=a&state=b'));
  const message = expect.stringContaining('state: appears twice');
  expect([twice.status, saidBy(twice)]).toEqual([400, { outcome: 'refused', message }]);
  expect((await t.ask('GET', '/me', { token: tokens.access_token })).status).toBe(200);
});
