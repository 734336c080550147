// People who come and go: each visit signs in and sends every kind of request, and some visits end with the account.

import { operations } from '@latchkey/client/operations';
import type { FeedAnswer } from '@latchkey/contract/feed';
import type { IssuedToken, TokenSet } from '@latchkey/contract/tokens';
import type { Random } from '../support/random.ts';
import { accessTokenType } from '../support/runs.ts';
import { basic } from '../support/services.ts';
import type { Inbox } from './inbox.ts';
import type { Load } from './load.ts';

export interface World {
  readonly load: Load;
  readonly inbox: Inbox;
  readonly random: Random;
  /** `id:secret` of a service that may read the feed. */
  readonly serviceKey: string;
}

/** Every kind of request that a soak sends. */
export const kinds = [
  ...['requestMagicLink', 'previewMagicLink', 'verifyMagicLink', 'verifyMagicLink: 400'],
  ...['getProfile', 'getProfile: 401', 'updateProfile', 'updateProfile: 400', 'listEvents', 'listScopes'],
  ...['startDeviceAuthorization', 'issueToken', 'issueToken: 400', 'verifyDevice'],
  ...['verifyDevice: 400', 'approveDevice', 'denyDevice'],
  ...['refresh', 'refresh: 400', 'listSessions', 'revokeSession', 'revokeSession: 404', 'revoke', 'logout'],
  ...['createKey', 'listKeys', 'removeKey', 'startPasskeyLogin', 'listPasskeys', 'listOrganizations'],
  ...['exchange', 'introspect', 'introspect: 401', 'readFeed', 'deleteAccount'],
  ...['not JSON', 'wrong type', 'wrong method', 'no such path', 'a page', 'keys', 'ready'],
] as const;

/** How many visits an account lasts, on average. */
const visitsPerAccount = 4;
const keyLifetimeSeconds = 86_400;

let accounts = 0;
const newAddress = (): string => `p${++accounts}@example.com`;

const json = (text: string): RequestInit => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: text,
});

async function signIn({ load, inbox }: World, email: string): Promise<TokenSet> {
  const link = inbox.nextLink(email);
  await load.call('requestMagicLink', { body: { email } });
  const token = await link;
  await load.call('previewMagicLink', { body: { token } });
  const tokens = (await load.call('verifyMagicLink', { body: { token } })) as TokenSet;
  await load.refused('verifyMagicLink', 400, { body: { token } });
  return tokens;
}

async function useAccount({ load, random }: World, accessToken: string): Promise<void> {
  await load.call('getProfile', { accessToken });
  await load.call('updateProfile', { accessToken, body: { name: `Person ${random.below(1_000)}` } });
  await load.refused('updateProfile', 400, { accessToken, body: { name: '' } });
  await load.call('listSessions', { accessToken });
  await load.call('listEvents', { accessToken });
  await load.call('listScopes', { accessToken });
  await load.call('listPasskeys', { accessToken });
  await load.call('listOrganizations', { accessToken });
  await load.call('startPasskeyLogin');
}

/** Signs a device in, and denies another one. */
async function signInDevice({ load }: World, accessToken: string): Promise<TokenSet> {
  const { device_code, user_code } = await load.call('startDeviceAuthorization', { body: {} });
  await load.refused('issueToken', 400, { body: { device_code } });
  await load.call('verifyDevice', { accessToken, body: { user_code } });
  await load.call('approveDevice', { accessToken, body: { user_code } });
  const tokens = await load.call('issueToken', { body: { device_code } });
  const other = await load.call('startDeviceAuthorization', { body: {} });
  await load.call('denyDevice', { accessToken, body: { user_code: other.user_code } });
  await load.refused('issueToken', 400, { body: { device_code: other.device_code } });
  await load.refused('verifyDevice', 400, { accessToken, body: { user_code: other.user_code } });
  return tokens;
}

/** Refreshes a session a few times, and presents something that is not a refresh token. */
async function refresh({ load }: World, tokens: TokenSet): Promise<TokenSet> {
  let current = tokens;
  for (let times = 0; times < 3; times++)
    current = await load.call('refresh', { body: { refresh_token: current.refresh_token } });
  await load.refused('refresh', 400, { body: { refresh_token: `${current.refresh_token}x` } });
  return current;
}

async function useKey({ load }: World, accessToken: string): Promise<void> {
  const body = { name: 'ci', scope: '*', expires_in: keyLifetimeSeconds };
  const { id, key = '' } = await load.call('createKey', { accessToken, body });
  await load.call('getProfile', { accessToken: key });
  await load.call('listKeys', { accessToken });
  await load.call('removeKey', { accessToken, params: { id } });
  await load.refused('getProfile', 401, { accessToken: key });
}

const introspect = ({ load, serviceKey }: World, token: string): Promise<string> =>
  load.send('introspect', 200, operations.introspect.path, {
    method: 'POST',
    headers: { Authorization: basic(serviceKey) },
    body: new URLSearchParams({ token }),
  });

/** A run within a session, and what a service learns about both. */
async function startRun(world: World, accessToken: string): Promise<void> {
  const answer = await world.load.send('exchange', 200, operations.issueToken.path, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: accessToken,
      subject_token_type: accessTokenType,
      scope: 'profile',
    }),
  });
  const { access_token } = JSON.parse(answer) as IssuedToken;
  for (const token of [accessToken, access_token, `${access_token}x`]) await introspect(world, token);
}

/** What the service must refuse, and what it serves to anyone. */
async function misbehave({ load }: World, accessToken: string): Promise<void> {
  await load.send('not JSON', 400, operations.refresh.path, json('{'));
  await load.send('wrong type', 415, operations.requestMagicLink.path, { method: 'POST', body: 'x' });
  await load.send('wrong method', 405, operations.getProfile.path, { method: 'POST' });
  await load.send('no such path', 404, '/api/v1/auth/nothing');
  await load.send('introspect: 401', 401, operations.introspect.path, json('{"token":"x"}'));
  await load.refused('revokeSession', 404, { accessToken, params: { id: 'ses_nothing' } });
  await load.send('a page', 200, '/login');
  await load.send('keys', 200, '/.well-known/jwks.json');
  await load.send('ready', 200, '/readyz');
}

/** Ends the device's session, and sometimes the account. Otherwise the browser's session is ended, or left to expire. */
async function leave({ load, random }: World, browser: string, device: TokenSet): Promise<boolean> {
  const { sessions } = await load.call('listSessions', { accessToken: device.access_token });
  const current = sessions.find(({ current: isCurrent }) => isCurrent);
  if (random.oneIn(2) && current)
    await load.call('revokeSession', { accessToken: browser, params: { id: current.id } });
  else await load.call('logout', { accessToken: device.access_token, body: { scope: 'session' } });
  if (random.oneIn(visitsPerAccount)) {
    await load.call('deleteAccount', { accessToken: browser });
    return true;
  }
  if (random.oneIn(2)) await load.call('revoke', { accessToken: browser });
  return false;
}

/** One visit; tells whether it ended the account. */
async function visit(world: World, email: string): Promise<boolean> {
  const { access_token } = await signIn(world, email);
  await useAccount(world, access_token);
  const device = await refresh(world, await signInDevice(world, access_token));
  await useKey(world, access_token);
  await startRun(world, device.access_token);
  await misbehave(world, access_token);
  return leave(world, access_token, device);
}

/** One person after the other, until `isOver`. */
export async function visitUntil(world: World, isOver: () => boolean): Promise<void> {
  let email = newAddress();
  while (!isOver()) {
    try {
      if (await visit(world, email)) email = newAddress();
    } catch (error) {
      world.load.fail(`a visit ended: ${error}`);
      email = newAddress();
    }
  }
}

const feedPauseMs = 250;

/** A service that reads and acknowledges the feed, until `isOver`. */
export async function readFeedUntil({ load, serviceKey }: World, isOver: () => boolean): Promise<void> {
  const headers = { Authorization: basic(serviceKey), 'Content-Type': 'application/json' };
  for (let ack: string[] = []; !isOver(); ) {
    const body = JSON.stringify({ returnImmediately: true, ack });
    try {
      const init = { method: 'POST', headers, body };
      const answer = await load.send('readFeed', 200, operations.readFeed.path, init);
      ack = Object.keys((JSON.parse(answer) as Partial<FeedAnswer>).sets ?? {});
    } catch (error) {
      load.fail(`the reader of the feed: ${error}`);
    }
    if (ack.length === 0) await Bun.sleep(feedPauseMs);
  }
}
