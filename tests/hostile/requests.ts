// Hostile requests, derived from the endpoint table: each starts from what an endpoint expects and breaks some of it.

import { authorizationParameters } from '@latchkey/contract/authorize';
import type { Endpoint } from '@latchkey/contract/endpoint';
import { endpoints } from '@latchkey/contract/endpoints';
import { endSessionPath, signOutParameters } from '@latchkey/contract/openid';
import { grantTypes } from '@latchkey/contract/tokens';
import { z } from 'zod';
import type { Random } from '#support/random.ts';
import { hostileJson, hostileText, marker } from './values.ts';

/** Credentials that the service accepts. Requests that carry one reach the use cases. */
export interface Credentials {
  readonly bearers: readonly string[];
  readonly cookies: readonly string[];
  readonly serviceKeys: readonly string[];
}

/** Where the applications of the service keys get responses, and people who signed out. */
export const applicationUri = 'https://app.example/callback';

/** A request as bytes. */
export interface HostileRequest {
  readonly bytes: Buffer;
  /** The method decides whether the response has a body. */
  readonly method: string;
  /** The framing is valid, so exactly one response follows. */
  readonly isFramed: boolean;
}

interface Target {
  readonly endpoint: Endpoint;
  readonly members: readonly string[];
  readonly query: readonly string[];
}

const membersOf = (schema: z.ZodType | undefined): string[] => {
  if (!schema) return [];
  const { properties, anyOf } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  const parts = [{ properties }, ...((anyOf ?? []) as { properties?: object }[])];
  return parts.flatMap((part) => Object.keys(part.properties ?? {}));
};

const targets: readonly Target[] = (Object.values(endpoints) as Endpoint[]).map((endpoint) => ({
  endpoint,
  members: [...new Set([...membersOf(endpoint.body), ...membersOf(endpoint.form)])],
  query: membersOf(endpoint.query),
}));

const otherPaths = [
  ...'/ /docs /openapi.json /healthz /readyz /metrics /dev/mailbox /dev/mailbox.json'.split(' '),
  ...'/login /device /account /magic-link /.well-known/jwks.json /.well-known/webauthn'.split(' '),
  ...'/api/v1/auth /api/v1/auth/ /api/v1/auth//me /api/v1/auth/me/ /../etc/passwd'.split(' '),
  ...`/%2e%2e/%2e%2e/ /api/v1/auth/me%00 /api/v1/auth/%zz /api/v1/auth/\u00e9 /${marker}`.split(' '),
];

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const oddMethods = ['TRACE', 'CONNECT', 'PROPFIND', 'get', 'POST2', marker, '*'];

const contentTypes = [
  ...['application/json; charset=utf-8', 'APPLICATION/JSON', 'application/json;charset=x', '', ';'],
  ...['application/json', 'application/x-www-form-urlencoded', 'application/merge-patch+json'],
  ...['multipart/form-data; boundary=x', 'multipart/form-data', `${marker}/${marker}`, 'text/plain'],
  'application/json, text/plain',
];

const headerNames = [
  ...'Authorization Cookie Origin Sec-Fetch-Site If-Match If-None-Match Idempotency-Key Prefer'.split(' '),
  ...'X-Forwarded-For X-Forwarded-Host Forwarded User-Agent Accept Accept-Language Latchkey-User'.split(' '),
  ...'X-HTTP-Method-Override Range TE Upgrade Referer Cache-Control traceparent'.split(' '),
  ...['Access-Control-Request-Method', 'Access-Control-Request-Headers', marker],
];

const headerValues = [
  ...['', '*', ',', ';', '"', `"${marker}`, `W/"${marker}"`, `Bearer`, `Bearer ${marker}`, `Basic ${marker}`],
  ...[`Basic ${Buffer.from(`${marker}:${marker}`).toString('base64')}`, `DPoP ${marker}`, `Bearer  a  b`],
  ...['null', 'none', 'same-origin', `https://${marker}.example`, `for="[::1]:99999";by=${marker}`, `::1`],
  ...['127.0.0.1, 10.0.0.1', 'wait=999999999999', `respond-async, wait=${marker}`, 'bytes=0-', 'websocket'],
  ...['en;q=2, *;q=-1', `a=${marker}; a=${marker}`, '='.repeat(50), `;${marker}=`.repeat(100)],
];

/** Removes what would end the header line or the request. */
const oneLine = (value: string): string => value.replaceAll(/[\r\n\0]/g, ' ');

const percent = (random: Random, value: string): string =>
  random.oneIn(3) ? value.replaceAll(/[\s#?/\0]/g, '_') : encodeURIComponent(value.toWellFormed());

function pathOf(random: Random, { endpoint, query }: Target): string {
  if (random.oneIn(20)) return random.pick(otherPaths);
  const path = endpoint.path.replaceAll(/\{\w+\}/g, () => percent(random, hostileText(random, 3_000)));
  if (!random.oneIn(4)) return path;
  const names = [...query, 'scope', 'session', 'limit', 'cursor', marker];
  const pairs = Array.from({ length: random.below(4) + 1 }, () => {
    const value = random.oneIn(2)
      ? random.pick(['session', 'cookie', '0', '-1', '1e9', ''])
      : hostileText(random, 3_000);
    return `${random.pick(names)}=${percent(random, value)}`;
  });
  return `${path}?${pairs.join('&')}`;
}

/** The pages that applications send people to. */
const requestPages = [
  { path: '/authorize', members: membersOf(authorizationParameters) },
  { path: endSessionPath, members: membersOf(signOutParameters) },
  { path: '/sign-out', members: membersOf(signOutParameters) },
];

/** The parameters of an application that are right, with up to three that are not. */
function applicationParameters(
  random: Random,
  members: readonly string[],
  { serviceKeys }: Credentials,
): [name: string, value: string][] {
  const right: Record<string, string> = {
    client_id: random.pick(serviceKeys).split(':')[0] ?? '',
    redirect_uri: applicationUri,
    post_logout_redirect_uri: applicationUri,
    response_type: 'code',
    code_challenge: 'x'.repeat(43),
    code_challenge_method: 'S256',
    scope: 'openid profile',
  };
  const known = Object.entries(right).filter(([name]) => members.includes(name));
  const broken = Array.from({ length: random.below(4) }, (): [string, string] => [
    random.pick([...members, marker]),
    random.oneIn(4)
      ? random.pick(['none', 'login consent', '0', '', '*', 'form_post', `${applicationUri}/..`])
      : hostileText(random, 3_000),
  ]);
  return random.oneIn(8) ? [...known, ...broken] : Object.entries(Object.fromEntries([...known, ...broken]));
}

const asQuery = (random: Random, pairs: readonly (readonly [string, string])[]): string =>
  pairs.map(([name, value]) => `${percent(random, name)}=${percent(random, value)}`).join('&');

function jsonBody(random: Random, { members }: Target, credentials: Credentials): Buffer {
  if (members.includes('client_id') && !random.oneIn(4)) {
    const parameters = applicationParameters(random, members, credentials);
    return encoded(random, JSON.stringify(Object.fromEntries(parameters)));
  }
  if (random.oneIn(5)) return encoded(random, hostileJson(random));
  const pairs = members.map((name) => `${JSON.stringify(name)}:${hostileJson(random, 2)}`);
  if (random.oneIn(6) && pairs[0]) pairs.push(pairs[0]);
  if (random.oneIn(6)) pairs.push('"__proto__":{"x":1}');
  const text = `{${pairs.join(',')}}`;
  return encoded(random, random.oneIn(10) ? text.slice(0, random.below(text.length + 1)) : text);
}

function encoded(random: Random, text: string): Buffer {
  if (random.oneIn(30)) return Buffer.from(`\ufeff${text}`);
  if (random.oneIn(30)) return Buffer.from(text, 'utf16le');
  if (random.oneIn(20)) return Buffer.concat([Buffer.from(text), Buffer.from([0xff, 0xfe, 0xc0, 0x80])]);
  return Buffer.from(text);
}

function formBody(random: Random, { members }: Target): Buffer {
  const names = [...members, 'grant_type', 'token', marker];
  const grants = [...grantTypes, 'password', marker];
  const pairs = Array.from({ length: random.below(6) }, () => {
    const name = random.pick(names);
    const value = name === 'grant_type' ? random.pick(grants) : percent(random, hostileText(random, 5_000));
    return random.pick([`${name}=${value}`, `${name}=${value}`, name, `=${value}`, `%zz=${value}`, '']);
  });
  return Buffer.from(pairs.join('&'));
}

/** Session-ending endpoints get valid credentials rarely, or there would soon be no valid ones left. */
const isEnding = ({ endpoint: { id } }: Target): boolean =>
  /^(revoke|logout|deleteAccount|endSession|removeKey)/.test(id);

function credentialHeaders(random: Random, target: Target, credentials: Credentials): string[] {
  if (random.oneIn(4)) return [];
  const isValid = isEnding(target) ? random.oneIn(20) : !random.oneIn(4);
  const bearer = random.pick(credentials.bearers);
  const damaged = isValid ? bearer : damage(random, bearer);
  if (target.endpoint.access === 'service') {
    const key = random.pick(credentials.serviceKeys);
    const text = isValid ? key : damage(random, key);
    return [`Authorization: Basic ${Buffer.from(text).toString('base64')}`];
  }
  if (random.oneIn(4)) {
    const cookie = random.pick(credentials.cookies);
    const site = random.pick(['same-origin', 'same-origin', 'cross-site', marker]);
    return [`Cookie: ${isValid ? cookie : damage(random, cookie)}`, `Sec-Fetch-Site: ${site}`];
  }
  return [`Authorization: ${random.pick(['Bearer', 'bearer', 'BEARER '])} ${damaged}`];
}

/** A credential with one character changed, cut, doubled or followed by something. */
function damage(random: Random, text: string): string {
  const at = random.below(text.length);
  return random.pick([
    text.slice(0, at),
    text + text,
    `${text}=`,
    `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`,
    text.toUpperCase(),
    `${text}.${marker}`,
  ]);
}

function otherHeaders(random: Random): string[] {
  const count = random.oneIn(50) ? 80 : random.below(4);
  return Array.from({ length: count }, () => {
    const value = random.oneIn(3) ? oneLine(hostileText(random, 2_000)) : random.pick(headerValues);
    return `${random.pick(headerNames)}: ${value}`;
  });
}

/** A request with valid framing. */
interface FramedParts {
  readonly method: string;
  readonly path: string;
  /** One line for each. */
  readonly headers: readonly string[];
  /** Absent if the request has none. */
  readonly body?: Buffer | undefined;
}

/** A request for one of the pages that applications send people to. */
function pageRequest(random: Random, credentials: Credentials): FramedParts {
  const { path, members } = random.pick(requestPages);
  const query = asQuery(random, applicationParameters(random, members, credentials));
  const method = random.oneIn(3) ? 'POST' : 'GET';
  const headers = otherHeaders(random);
  if (method === 'GET') return { method, path: `${path}?${query}`, headers };
  const type = 'Content-Type: application/x-www-form-urlencoded';
  return { method, path, headers: [type, ...headers], body: Buffer.from(query) };
}

function framedParts(random: Random, credentials: Credentials): FramedParts {
  if (random.oneIn(10)) return pageRequest(random, credentials);
  const target = random.pick(targets);
  const declared = target.endpoint.method.toUpperCase();
  const method = random.oneIn(10) ? random.pick(methods) : declared;
  const asForm = target.endpoint.form !== undefined && random.oneIn(2);
  const hasBody = !['GET', 'HEAD'].includes(method) || random.oneIn(20);
  const body = hasBody ? (asForm ? formBody : jsonBody)(random, target, credentials) : undefined;
  const usual = asForm ? 'application/x-www-form-urlencoded' : 'application/json';
  const type = random.oneIn(6) ? random.pick(contentTypes) : usual;
  const headers = [
    ...(hasBody ? [`Content-Type: ${type}`] : []),
    ...credentialHeaders(random, target, credentials),
    ...otherHeaders(random),
  ];
  return { method, path: pathOf(random, target), headers, body };
}

/** A request with valid framing and anything else broken. */
export function framedRequest(random: Random, credentials: Credentials): HostileRequest {
  const { method, path, headers, body } = framedParts(random, credentials);
  const length = body ? [`Content-Length: ${body.length}`] : [];
  const head = [`${method} ${path} HTTP/1.1`, 'Host: localhost', ...length, ...headers];
  const bytes = Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body ?? Buffer.alloc(0)]);
  return { bytes, method, isFramed: true };
}

const lines = (...parts: string[]): string => parts.join('\r\n');

const post = (headers: readonly string[], ...body: string[]): string =>
  lines('POST /api/v1/auth/device HTTP/1.1', 'Host: x', ...headers, '', ...body);

const get = (...headers: string[]): string => lines('GET /healthz HTTP/1.1', ...headers, '', '');

const chunked = 'Transfer-Encoding: chunked';

/** Requests whose framing is wrong: each gets a connection of its own. */
const unframed: readonly string[] = [
  post(['Content-Length: 5', chunked], '0', '', get('Host: x')),
  post(['Content-Length: 2', 'Content-Length: 3'], '{}'),
  post(['Content-Length: -1'], '{}'),
  post(['Content-Length: x'], '{}'),
  post(['Content-Length: 99999999999999999999'], '{}'),
  post([chunked], 'zz', '{}'),
  post([chunked], 'ffffffffffffffff', '{}'),
  post(['Transfer-Encoding: gzip, chunked'], '2', '{}', '0', '', ''),
  post(['Content-Length: 50'], '{"client_name":'),
  post(['Expect: 100-continue', 'Content-Length: 2'], '{}'),
  'GET /healthz HTTP/1.1\nHost: x\n\n',
  get(`no colon ${marker}`),
  get('Host: x', ' folded: x'),
  get(),
  get('Host: a', 'Host: b'),
  get(`Host: ${marker}\0`),
  get('Host: a b[<>'),
  get('Host: x', 'Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: x'),
  ...[8_000, 70_000, 1_000_000].map((length) => get(`X: ${'a'.repeat(length)}`)),
  ...[101, 3_000].map((count) =>
    get('Host: x', ...Array.from({ length: count }, (_, n) => `x${n}: ${marker}`)),
  ),
  ...[100, 10_000].map((times) => lines(`GET /${marker.repeat(times)} HTTP/1.1`, 'Host: x', '', '')),
  ...oddMethods.map((method) => lines(`${method} /api/v1/auth/me HTTP/1.1`, 'Host: x', '', '')),
  ...['%zz%c0%ff', '\u00ff\u00fe'].map((id) =>
    lines(`GET /api/v1/auth/sessions/${id} HTTP/1.1`, 'Host: x', '', ''),
  ),
  lines('GET /healthz', '', ''),
  lines('GET /healthz HTTP/9.9', 'Host: x', '', ''),
  lines('GET http://other.example/api/v1/auth/me HTTP/1.1', 'Host: x', '', ''),
  lines('OPTIONS * HTTP/1.1', 'Host: x', '', ''),
  lines('CONNECT localhost:1 HTTP/1.1', 'Host: x', '', ''),
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  '\0'.repeat(1_000),
  '\r\n'.repeat(100),
];

/** A request, or something like one, that breaks the rules of HTTP/1.1 itself. */
export const unframedRequest = (random: Random): HostileRequest => ({
  bytes: Buffer.from(random.pick(unframed), 'latin1'),
  method: 'GET',
  isFramed: false,
});
