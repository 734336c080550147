// The kinds of requests in the table: how Latchkey and its floor are asked, and what the same is called elsewhere.

import type { KeyRing } from '../../packages/server/src/platform/crypto/primitives.ts';
import type { Database, Dialect } from '../../packages/server/src/platform/database/executor.ts';
import { mePath, type Requests, refreshesOf, withTokens } from '../support/load.ts';
import type { FloorName, PeerName } from '../support/service.ts';
import { forgedTokens, settledTokens } from '../support/stand.ts';
import { accessTokenOf, emailAt } from '../support/store.ts';
import { addDevices, addLinks, browser, type Passkeys } from './people.ts';

/** One side of Latchkey: the service or a floor, with a database of its own. */
export interface Place {
  readonly db: Database;
  readonly keys: KeyRing;
  readonly sessions: number;
  readonly passkeys: Passkeys;
  /** The `Authorization` header of a service. */
  readonly service: string;
}

export interface Kind {
  /** As in the path, or as a person would say it. */
  readonly name: string;
  readonly floor: FloorName;
  /** Prepares up to `count` requests, once or before each round. */
  readonly prepare: (place: Place, count: number) => Requests | Promise<Requests>;
  readonly isPreparedEachRound?: boolean;
  /** How many requests a round sends in turn, or once. */
  readonly count: number;
  /** What a peer calls the same, and how many of its requests a round sends. */
  readonly peers: Partial<
    Record<PeerName, { readonly kind: string; readonly count: number; readonly mode?: Requests['mode'] }>
  >;
  /** The smallest ratios of rates that are promised. */
  readonly targets: {
    readonly floor: number;
    readonly 'better-auth'?: Readonly<Record<Dialect, number>>;
  };
}

const inTurn = 5000;
const accounts = 1000;
/** How many rows are added in one transaction. */
const batchSize = 500;

const spread = ({ sessions }: Place, count: number): number[] =>
  Array.from({ length: count }, (_, index) => Math.floor((index * sessions) / count));

const tokensOf = (place: Place, count: number): string[] =>
  spread(place, count).map((index) => accessTokenOf(place.keys, index));

const api = '/api/v1/auth';

/** Requests of a browser with these bodies. */
const posts = (mode: 'turns' | 'once', path: string, bodies: readonly object[], headers = {}): Requests => ({
  mode,
  list: bodies.map((body) => ({
    method: 'POST',
    path: api + path,
    headers: { ...browser, ...headers },
    body: JSON.stringify(body),
  })),
});

const introspections = (place: Place, count: number, headers = {}): Requests =>
  posts(
    'turns',
    '/introspect',
    tokensOf(place, count).map((token) => ({ token })),
    { Authorization: place.service, ...headers },
  );

/** Of the floor. What every request costs weighs most in the shortest ones. */
const ofShortest = 0.6;
const ofOthers = 0.8;

export const kinds: readonly Kind[] = [
  {
    name: 'GET /me',
    floor: 'me',
    count: inTurn,
    prepare: (place, count) => withTokens(mePath, tokensOf(place, count)),
    peers: { 'better-auth': { kind: 'me', count: 500 } },
    targets: { floor: ofShortest, 'better-auth': { sqlite: 7, postgres: 7 } },
  },
  {
    name: 'GET /me, forged token',
    floor: 'me',
    count: inTurn,
    prepare: ({ keys }, count) => withTokens(mePath, forgedTokens(keys, count)),
    peers: {},
    targets: { floor: ofShortest },
  },
  {
    name: 'POST /introspect',
    floor: 'introspect',
    count: inTurn,
    prepare: (place, count) => introspections(place, count),
    peers: { 'oidc-provider': { kind: 'introspect', count: 500 } },
    targets: { floor: ofShortest },
  },
  {
    name: 'POST /introspect, as a JWT',
    floor: 'introspect',
    count: inTurn,
    prepare: (place, count) =>
      introspections(place, count, { Accept: 'application/token-introspection+jwt' }),
    peers: { 'oidc-provider': { kind: 'introspectJwt', count: 500 } },
    targets: { floor: ofShortest },
  },
  {
    name: 'POST /refresh',
    floor: 'refresh',
    count: inTurn,
    isPreparedEachRound: true,
    prepare: async (place, count) =>
      refreshesOf(await settledTokens(place.db.read, place.keys, spread(place, count))),
    peers: {
      'better-auth': { kind: 'refresh', count: 500 },
      'oidc-provider': { kind: 'refresh', count: 300, mode: 'refresh' },
    },
    targets: { floor: ofShortest, 'better-auth': { sqlite: 6, postgres: 6 } },
  },
  {
    name: 'POST /device',
    floor: 'device-start',
    count: 1,
    prepare: () => posts('turns', '/device', [{ client_name: 'latchkey', device_name: 'a laptop' }]),
    peers: {
      'better-auth': { kind: 'deviceStart', count: 1 },
      'oidc-provider': { kind: 'deviceStart', count: 1 },
    },
    targets: { floor: ofOthers, 'better-auth': { sqlite: 4, postgres: 2 } },
  },
  {
    name: 'POST /token, pending',
    floor: 'device-poll',
    count: 10_000,
    prepare: async ({ db, keys }, count) => {
      const codes: string[] = [];
      while (codes.length < count) {
        const size = Math.min(batchSize, count - codes.length);
        codes.push(...(await db.transaction((tx) => addDevices(tx, keys, size))));
      }
      return posts(
        'turns',
        '/token',
        codes.map((device_code) => ({ device_code })),
      );
    },
    peers: {
      'better-auth': { kind: 'devicePoll', count: 3000 },
      'oidc-provider': { kind: 'devicePoll', count: 500 },
    },
    targets: { floor: ofShortest, 'better-auth': { sqlite: 9, postgres: 5 } },
  },
  {
    name: 'POST /magic_link',
    floor: 'link-request',
    count: accounts,
    prepare: (_, count) =>
      posts(
        'turns',
        '/magic_link',
        Array.from({ length: count }, (_, index) => ({ email: emailAt(index) })),
      ),
    peers: { 'better-auth': { kind: 'linkRequest', count: 500 } },
    targets: { floor: ofOthers, 'better-auth': { sqlite: 3, postgres: 2 } },
  },
  {
    name: 'POST /magic_link/verify',
    floor: 'link-verify',
    count: accounts,
    isPreparedEachRound: true,
    prepare: async ({ db, keys }, count) => {
      const tokens = await db.transaction((tx) => addLinks(tx, keys, Array(count).keys()));
      return posts(
        'once',
        '/magic_link/verify',
        tokens.map((token) => ({ token })),
      );
    },
    peers: { 'better-auth': { kind: 'linkVerify', count: 300, mode: 'once' } },
    targets: { floor: ofOthers, 'better-auth': { sqlite: 3, postgres: 2.5 } },
  },
  {
    name: 'POST /passkey/login',
    floor: 'passkey-login',
    count: accounts,
    isPreparedEachRound: true,
    prepare: ({ keys, passkeys }, count) => posts('once', '/passkey/login', passkeys.assertions(keys, count)),
    peers: { 'better-auth': { kind: 'passkeyLogin', count: 300, mode: 'once' } },
    targets: { floor: ofOthers, 'better-auth': { sqlite: 2.5, postgres: 2.5 } },
  },
];

/** The names by which kinds are chosen: those of their floors. */
export const kindNames: readonly string[] = [...new Set(kinds.map(({ floor }) => floor))];
