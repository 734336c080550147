// People who come and go: each visit signs in and sends every kind of request, and some visits end with the account.

import { operations } from '@latchkey/client/operations';
import type { IssuedToken, TokenSet } from '@latchkey/contract/tokens';
import { exchangeForm } from '#support/http.ts';
import { basic } from '#support/services.ts';
import { until } from '#support/until.ts';
import type { Load } from './load.ts';

export interface World {
  readonly load: Load;
  readonly inbox: Inbox;
  /** How many visits have begun. */
  visits: number;
  /** `id:secret` of a service that may read the feed. */
  readonly serviceKey: string;
}

/** The links of sign-in emails that nobody has used yet, by their addresses. */
export type Inbox = Map<string, string>;

const keyLifetimeSeconds = 86_400;

let accounts = 0;
const newAddress = (): string => `p${++accounts}@example.com`;

async function signIn({ load, inbox }: World, email: string): Promise<TokenSet> {
  await load.call('requestMagicLink', { body: { email } });
  await until(() => inbox.has(email), `a sign-in email to ${email}`);
  const body = { token: inbox.get(email)! };
  inbox.delete(email);
  await load.call('previewMagicLink', { body });
  const tokens = (await load.call('verifyMagicLink', { body })) as TokenSet;
  await load.refused('verifyMagicLink', 400, { body });
  return tokens;
}

const lists = [
  'getProfile',
  'listSessions',
  'listEvents',
  'listScopes',
  'listPasskeys',
  'listOrganizations',
] as const;

async function useAccount({ load, visits }: World, accessToken: string): Promise<void> {
  await load.call('updateProfile', { accessToken, body: { name: `Person ${visits}` } });
  await load.refused('updateProfile', 400, { accessToken, body: { name: '' } });
  for (const operation of lists) await load.call(operation, { accessToken });
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

/** A run within a session, and what a service learns about both. */
async function startRun({ load, serviceKey }: World, accessToken: string): Promise<void> {
  const body = new URLSearchParams(exchangeForm(accessToken, 'profile'));
  const answer = await load.send(200, operations.issueToken.path, { method: 'POST', body });
  const { access_token } = JSON.parse(answer) as IssuedToken;
  const headers = { Authorization: basic(serviceKey) };
  for (const token of [accessToken, access_token, `${access_token}x`])
    await load.call('introspect', { headers, body: { token } });
}

/** What the service must refuse, and what it serves to anyone. */
async function misbehave({ load }: World, accessToken: string): Promise<void> {
  const headers = { 'Content-Type': 'application/json' };
  await load.send(400, operations.refresh.path, { method: 'POST', headers, body: '{' });
  await load.send(415, operations.requestMagicLink.path, { method: 'POST', body: 'x' });
  await load.send(405, operations.getProfile.path, { method: 'POST' });
  await load.send(404, '/api/v1/auth/nothing');
  await load.send(401, operations.introspect.path, { method: 'POST', headers, body: '{"token":"x"}' });
  await load.refused('revokeSession', 404, { accessToken, params: { id: 'ses_nothing' } });
  for (const path of ['/login', '/.well-known/jwks.json', '/readyz']) await load.send(200, path);
}

/** Ends the device's session in either way. Every fourth visit ends the account, another the browser's session; others let it expire. */
async function leave({ load }: World, visit: number, browser: string, device: TokenSet): Promise<boolean> {
  const { sessions } = await load.call('listSessions', { accessToken: device.access_token });
  const current = sessions.find(({ current: isCurrent }) => isCurrent);
  if (visit % 2 === 0 && current)
    await load.call('revokeSession', { accessToken: browser, params: { id: current.id } });
  else await load.call('logout', { accessToken: device.access_token, body: { scope: 'session' } });
  if (visit % 4 === 0) await load.call('deleteAccount', { accessToken: browser });
  if (visit % 4 === 1) await load.call('revoke', { accessToken: browser });
  return visit % 4 === 0;
}

/** One visit; tells whether it ended the account. */
async function visit(world: World, email: string): Promise<boolean> {
  const number = world.visits++;
  const { access_token } = await signIn(world, email);
  await useAccount(world, access_token);
  const device = await refresh(world, await signInDevice(world, access_token));
  await useKey(world, access_token);
  await startRun(world, device.access_token);
  await misbehave(world, access_token);
  return leave(world, number, access_token, device);
}

/** One person after the other, until `isOver`. */
export async function visitUntil(world: World, isOver: () => boolean): Promise<void> {
  let email = newAddress();
  while (!isOver()) {
    const isEnded = await visit(world, email).catch((error) => {
      world.load.fail(`a visit ended: ${error}`);
      return true;
    });
    if (isEnded) email = newAddress();
  }
}

const feedPauseMs = 250;

/** A service that reads and acknowledges the feed, until `isOver`. */
export async function readFeedUntil({ load, serviceKey }: World, isOver: () => boolean): Promise<void> {
  const headers = { Authorization: basic(serviceKey) };
  for (let ack: string[] = []; !isOver(); ) {
    try {
      const { sets } = await load.call('readFeed', { headers, body: { returnImmediately: true, ack } });
      ack = Object.keys(sets);
    } catch (error) {
      load.fail(`the reader of the feed: ${error}`);
    }
    if (ack.length === 0) await Bun.sleep(feedPauseMs);
  }
}
