// Sends hostile requests to a running service and collects every response that breaks a promise.

import { errorStatus } from '@latchkey/contract/errors';
import { cookieByMail } from '#support/account.ts';
import { randomFrom } from '#support/random.ts';
import { registerService, type TestService } from '#support/service.ts';
import { type Exchange, exchange, type RawResponse } from './connection.ts';
import {
  applicationUri,
  type Credentials,
  framedRequest,
  type HostileRequest,
  unframedRequest,
} from './requests.ts';
import { marker } from './values.ts';

export interface Attack {
  readonly requests: number;
  readonly seed: number;
}

export interface Outcome {
  /** How often each status came back; 0 is a connection that was closed without a response. */
  readonly statuses: Readonly<Record<number, number>>;
  /** What went wrong, with the request that caused it. Empty if every promise held. */
  readonly violations: readonly string[];
}

const connections = 8;
const accounts = 8;

/** One request in this many breaks the framing. Each of those waits for the connection to fall silent. */
const framingEvery = 100;

/** How often the credentials are renewed: some requests sign out or delete their account. */
const renewEvery = 2_000;

const maxViolations = 20;

let nextAccount = 0;

const newVictim = (): string => `account-${nextAccount++}@victim.example`;

async function newCredentials(service: TestService, serviceKey: string): Promise<Credentials> {
  const logins = await Promise.all(Array.from({ length: accounts }, () => service.login(newVictim())));
  const tokens = logins.map(({ access_token }) => access_token);
  const key = await service.ask('POST', '/keys', {
    token: tokens[0]!,
    json: { name: 'ci', scope: '*', expires_in: 3_600 },
  });
  return {
    bearers: [...tokens, key.body.key],
    cookies: [await cookieByMail(service, newVictim())],
    serviceKeys: [serviceKey],
  };
}

/** What a response to a well-framed request breaks, if anything. */
function brokenPromise({ status, headers, body }: RawResponse, method: string): string | undefined {
  if (status >= 500) return `status ${status}`;
  const location = headers.get('location') ?? '/';
  if (!isSafeLocation(location)) return `a redirect to ${location}`;
  const hasBody = method !== 'HEAD' && status !== 304;
  if (hasBody && headers.get('content-type')?.startsWith('application/json')) {
    const parsed = readJson(body);
    if (parsed === undefined) return 'a body that is not JSON';
    if (status >= 400) return brokenError(parsed as Record<string, unknown>, headers);
  }
  return undefined;
}

/** Redirects lead to pages of the service, or to the application with its response. */
const isSafeLocation = (location: string): boolean =>
  /^\/(?![/\\])/.test(location) || location.startsWith(`${applicationUri}?`);

const readJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

function brokenError(
  error: Record<string, unknown>,
  headers: ReadonlyMap<string, string>,
): string | undefined {
  if (!Object.hasOwn(errorStatus, String(error['error']))) return `the error code ${error['error']}`;
  if (typeof error['error_description'] !== 'string') return 'an error without a description';
  if (error['request_id'] !== headers.get('x-request-id')) return 'an error without its request id';
  return undefined;
}

function violationsOf({ method, isFramed }: HostileRequest, { responses, end }: Exchange): string[] {
  if (isFramed && responses.length !== 1) return [`${responses.length} responses, and then ${end}`];
  return (
    responses
      // The HTTP server itself says when a request is not HTTP/1.1.
      .filter(({ status }) => isFramed || status !== 505)
      .flatMap((response) => brokenPromise(response, method) ?? [])
  );
}

/** Sends hostile requests, and returns what came back and which promises did not hold. */
export async function attack(service: TestService, { requests, seed }: Attack): Promise<Outcome> {
  const random = randomFrom(seed);
  const port = Number(new URL(service.url).port);
  const uris = ['--redirect', applicationUri, '--sign-out-redirect', applicationUri];
  const serviceKey = await registerService(service, 'projects', ...uris);
  const statuses: Record<number, number> = {};
  const violations: string[] = [];
  let credentials = await newCredentials(service, serviceKey);
  let sent = 0;

  const work = async (): Promise<void> => {
    while (sent < requests && violations.length < maxViolations) {
      if (++sent % renewEvery === 0) credentials = await newCredentials(service, serviceKey);
      const hostile =
        sent % framingEvery === 0 ? unframedRequest(random) : framedRequest(random, credentials);
      const exchanged = await exchange(port, hostile);
      const came = exchanged.responses.map(({ status }) => status);
      for (const status of came.length > 0 ? came : [0]) statuses[status] = (statuses[status] ?? 0) + 1;
      for (const violation of violationsOf(hostile, exchanged))
        violations.push(`${violation}: ${hostile.bytes.toString('latin1').slice(0, 2_000)}`);
    }
  };
  await Promise.all(Array.from({ length: connections }, work));
  return { statuses, violations: [...violations, ...unsafeLines(service.logs())] };
}

/** The log lines that are not JSON, or that quote a request, a token or an email address. */
function unsafeLines(lines: readonly string[]): string[] {
  const unsafe = new RegExp(`${marker}|lk_[a-z]{2}_|@victim|svc_[\\w-]{22}:`, 'i');
  return lines
    .filter((line) => unsafe.test(line) || readJson(line) === undefined)
    .slice(0, maxViolations)
    .map((line) => `an unsafe log line: ${line.slice(0, 1_000)}`);
}
