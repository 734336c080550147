import { beforeEach, describe, expect, test } from 'bun:test';
import { outcome } from '../../../../tests/support/account.ts';
import { type Answer, openApp, type TestApp, type Tokens } from '../../../../tests/support/app.ts';

/** The scheme and the parameters of a WWW-Authenticate header. @see RFC 9110 section 11.6.1 */
function challengeOf({ headers }: Answer) {
  const text = headers.get('WWW-Authenticate') ?? '';
  const [scheme, ...rest] = text.split(' ');
  const parameters = [...rest.join(' ').matchAll(/(?:^|, )(\w+)="([^"]*)"/g)].map(([, name, value]) => [
    name,
    value,
  ]);
  return { scheme, parameters: Object.fromEntries(parameters) };
}

describe('authentication', () => {
  let app: TestApp;
  let browser: Tokens;
  let userCode: string;
  beforeEach(async () => {
    app = await openApp('sqlite');
    browser = await app.login();
    userCode = (await app.ask('POST', '/device')).body.user_code;
  });

  const decide = (verb: string, tokens: Tokens) =>
    app.ask('POST', `/device/${verb}`, { json: { user_code: userCode }, token: tokens.access_token });

  test('a request with an invalid credential is refused with an invalid_token challenge', async () => {
    const ended = await app.login('grace@example.com');
    await app.ask('DELETE', '/logout', { token: ended.access_token });
    const bad = ['garbage', browser.refresh_token, ended.access_token, `${browser.access_token}A`];
    for (const token of bad) {
      const answer = await app.ask('GET', '/me', { token });
      expect(outcome(answer)).toBe('401 invalid_token');
      const { scheme, parameters } = challengeOf(answer);
      expect([scheme, parameters['error']]).toEqual(['Bearer', 'invalid_token']);
      expect(answer.text + answer.headers.get('WWW-Authenticate')).not.toContain(token);
    }
  });

  test('the Bearer scheme is accepted in any letter case', async () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
      const headers = { Authorization: `${scheme} ${browser.access_token}` };
      expect((await app.ask('GET', '/me', { headers })).status).toBe(200);
    }
  });

  test('an access token is read only from the header, never from the query or the body', async () => {
    const query = `?access_token=${browser.access_token}`;
    expect(outcome(await app.ask('GET', `/me${query}`))).toBe('401 invalid_token');
    const json = { access_token: browser.access_token };
    expect(outcome(await app.ask('PATCH', '/me', { json }))).toBe('401 invalid_token');
  });

  test('approving a device requires a sign-in within the last 900 s; viewing and denying it do not', async () => {
    app.pass(890);
    const { user_code } = (await app.ask('POST', '/device')).body;
    const early = await app.ask('POST', '/device/approve', {
      json: { user_code },
      token: browser.access_token,
    });
    expect(outcome(early)).toBe('204');
    app.pass(11);
    userCode = (await app.ask('POST', '/device')).body.user_code;
    const late = await decide('approve', browser);
    expect(outcome(late)).toBe('401 insufficient_user_authentication');
    const { scheme, parameters } = challengeOf(late);
    expect([scheme, parameters['error'], parameters['max_age']]).toEqual([
      'Bearer',
      'insufficient_user_authentication',
      '900',
    ]);
    expect(outcome(await decide('verify', browser))).toBe('200');
    expect(outcome(await decide('deny', browser))).toBe('204');
  });

  test('only a new sign-in makes a session recent, not a refresh', async () => {
    app.pass(901);
    userCode = (await app.ask('POST', '/device')).body.user_code;
    const json = { refresh_token: browser.refresh_token };
    const refreshed = (await app.ask('POST', '/refresh', { json })).body;
    expect(outcome(await decide('approve', refreshed))).toBe('401 insufficient_user_authentication');
    expect(outcome(await decide('approve', await app.login()))).toBe('204');
  });

  test('the setting decides how long a sign-in counts as recent', async () => {
    const strict = await openApp('sqlite', { settings: { LATCHKEY_RECENT_LOGIN_TTL: '60' } });
    const tokens = await strict.login();
    strict.pass(61);
    const json = { user_code: (await strict.ask('POST', '/device')).body.user_code };
    const late = await strict.ask('POST', '/device/approve', { json, token: tokens.access_token });
    expect(challengeOf(late).parameters['max_age']).toBe('60');
  });
});
