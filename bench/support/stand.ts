// A running service on a filled database of its own.

import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { mintHandle, subjectBytes } from '../../packages/server/src/platform/crypto/handle.ts';
import {
  generateKey,
  type KeyRing,
  parseKeyRing,
} from '../../packages/server/src/platform/crypto/primitives.ts';
import { openDatabase } from '../../packages/server/src/platform/database/database.ts';
import type { Executor } from '../../packages/server/src/platform/database/executor.ts';
import { temporaryDirectory } from '../../tests/support/service.ts';
import {
  connections as defaultConnections,
  type Load,
  mePath,
  putUnderLoad,
  recordAnswer,
  refreshesOf,
  refreshPath,
  withTokens,
} from './load.ts';
import { roundSeconds, type Sample } from './rounds.ts';
import {
  type RecordedAnswer,
  type RunningServer,
  type ServiceSettings,
  serveCommand,
  startService,
} from './service.ts';
import { accessTokenOf, unspentTokensOf } from './store.ts';

/** How many tokens a load uses in turn. */
export const tokensInTurn = 10_000;

/** Requests cut off at the end of a round have finished when nothing changes for this long. */
const settleMs = 100;

export interface Stand {
  readonly server: RunningServer;
  readonly keys: KeyRing;
  /** The same ring as a setting. */
  readonly ring: string;
  readonly databaseUrl: string;
  readonly sessions: number;
}

/** The URL of a SQLite database that does not exist yet. */
export const sqliteUrl = (): string => `sqlite:${join(temporaryDirectory(), 'latchkey.db')}`;

/** Starts the service on a database with this number of sessions. */
export async function standOn(
  databaseUrl: string,
  sessions: number,
  {
    command = serveCommand,
    ...settings
  }: Pick<ServiceSettings, 'env'> & { readonly command?: readonly string[] } = {},
): Promise<Stand> {
  const ring = generateKey();
  const server = await startService({ databaseUrl, keys: ring, ...settings }, command);
  return { server, keys: parseKeyRing(ring), ring, databaseUrl, sessions };
}

/** The access tokens that a load uses in turn, of sessions spread over the whole database. */
export function accessTokens({ keys, sessions }: Pick<Stand, 'keys' | 'sessions'>): string[] {
  const step = sessions / tokensInTurn;
  return Array.from({ length: tokensInTurn }, (_, index) => accessTokenOf(keys, Math.floor(index * step)));
}

export const bearer = (token: string): RequestInit => ({ headers: { Authorization: `Bearer ${token}` } });

/** Records the response of `GET /me` to one of the tokens. All profiles have the same size. */
export const recordMe = (
  { server }: Stand,
  token: string,
): Promise<RecordedAnswer & { readonly bytes: number }> => recordAnswer(server.url + mePath, bearer(token));

/** Runs a round of `GET /me`. */
export async function askMe(
  { server }: Stand,
  tokens: readonly string[],
  bytes: number,
  connections = defaultConnections,
): Promise<Sample> {
  const expected = { status: 200, bytes };
  const requests = withTokens(mePath, tokens);
  return putUnderLoad({ server, requests, seconds: roundSeconds, connections, expected });
}

/** The MAC is the last 32 bytes of a handle: slightly less than its last 43 characters. */
const macCharacters = 42;

/** Access tokens with the right format and key id but a wrong MAC. */
export function forgedTokens(keys: KeyRing, count: number): string[] {
  const value = Date.now() + 3_600_000;
  return Array.from({ length: count }, () => {
    const genuine = mintHandle(keys, 'accessToken', { subject: randomBytes(subjectBytes), value });
    const mac = randomBytes(macCharacters).toString('base64url').slice(0, macCharacters);
    return genuine.slice(0, -macCharacters) + mac;
  });
}

/** The current refresh tokens of these sessions, once refreshes that were cut off at the end of a round have finished. */
export async function settledTokens(
  on: Executor,
  keys: KeyRing,
  indexes: readonly number[],
): Promise<string[]> {
  for (let last: string | undefined; ; ) {
    const tokens = await unspentTokensOf(on, keys, indexes);
    const now = tokens.join();
    if (now === last) return tokens;
    last = now;
    await Bun.sleep(settleMs);
  }
}

/**
 * Prepares rounds of `POST /refresh`. A round refreshes the sessions in turn, each with the token of its last response. The
 * next round continues from the state of the database.
 */
export async function refreshRounds(
  stand: Stand,
  {
    seconds = roundSeconds,
    connections = defaultConnections,
  }: Partial<Pick<Load, 'seconds' | 'connections'>> = {},
): Promise<() => Promise<Sample>> {
  const { server, keys, sessions } = stand;
  const step = sessions / tokensInTurn;
  const indexes = Array.from({ length: tokensInTurn }, (_, at) => Math.floor(at * step));
  const db = await openDatabase(stand.databaseUrl, { log: { warn: () => undefined } });
  const [first] = await unspentTokensOf(db.read, keys, [0]);
  const { bytes } = await recordAnswer(server.url + refreshPath, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ refresh_token: first }),
  });
  const expected = { status: 200, bytes };
  return async () => {
    const tokens = await settledTokens(db.read, keys, indexes);
    return putUnderLoad({ server, requests: refreshesOf(tokens), seconds, connections, expected });
  };
}
