// The service in this process, on a real database, with a clock that tests move.

import { describe } from 'bun:test';
import { join } from 'node:path';
import pino from 'pino';
import { createApp, sweepsOf, templates } from '../../packages/server/src/app.ts';
import { type Config, readConfig, readLogKeys } from '../../packages/server/src/platform/config.ts';
import type { Context } from '../../packages/server/src/platform/context.ts';
import { generateKey, parseKeyRing } from '../../packages/server/src/platform/crypto/key-ring.ts';
import { systemRandom } from '../../packages/server/src/platform/crypto/random.ts';
import { openDatabase } from '../../packages/server/src/platform/database/database.ts';
import type { Dialect } from '../../packages/server/src/platform/database/executor.ts';
import { sweepOnce } from '../../packages/server/src/platform/database/sweep.ts';
import type { App, Lifecycle } from '../../packages/server/src/platform/http/server.ts';
import { readMailbox } from '../../packages/server/src/platform/mail/mailbox.ts';
import { mailboxTransport } from '../../packages/server/src/platform/mail/transport.ts';
import { type MailWorker, startMailWorker } from '../../packages/server/src/platform/mail/worker.ts';
import { createRateLimiter } from '../../packages/server/src/platform/rate-limits/limiter.ts';
import { rateLimitNames } from '../../packages/server/src/platform/rate-limits/rules.ts';
import { createMetrics } from '../../packages/server/src/platform/telemetry/metrics.ts';
import { createServiceKey } from '../../packages/server/src/services/service-keys/service-keys.ts';
import { type Document, requireConformance, requireNoMissedComplaints } from './conformance.ts';
import { withLockOrder } from './lock-order.ts';
import { startPostgres } from './postgres.ts';
import { temporaryDirectory } from './service.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The JSON body; undefined where there is none. */
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into any answer
  readonly body: any;
}

export interface Ask {
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as a form. */
  readonly form?: Record<string, string> | string;
  /** Sent as it is. */
  readonly raw?: BodyInit;
  readonly token?: string;
  readonly cookie?: string;
  readonly headers?: Record<string, string>;
  /** The address of the socket's other end. */
  readonly peer?: string;
}

export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly token: string;
  readonly code: string;
}

export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly expires_in: number;
  readonly token_type: string;
}

export interface TestApp {
  readonly app: App;
  /** Answers a request, which must be as the OpenAPI document says, and the answer, too. */
  readonly fetch: (url: string, init: RequestInit, peer?: string) => Promise<Response>;
  readonly ctx: Context;
  readonly databaseUrl: string;
  readonly keys: string;
  readonly lifecycle: Lifecycle;
  /** The texts of all statements so far. */
  readonly statements: string[];
  /** What was logged so far, one JSON line each. */
  readonly logs: string[];
  /** Moves the clock, in seconds. */
  pass(seconds: number): void;
  /** One request; a path that starts with a slash is below /api/v1/auth, others are from the root. */
  ask(method: string, path: string, ask?: Ask): Promise<Answer>;
  /** The mails delivered so far, newest first, once nothing waits any more. */
  mails(): Promise<Mail[]>;
  /** Logs a person in by mail. */
  login(email?: string): Promise<Tokens>;
  /** Logs a program in by device flow, approved by the holder of a browser login's access token. */
  deviceLogin(approver: Tokens): Promise<Tokens>;
  /** The `Authorization` header of a sibling service with a key of its own. */
  serviceAuthorization(): Promise<string>;
  sweep(): Promise<number>;
  close(): Promise<void>;
}

export interface AppOptions {
  /** The limits are off unless a test sets LATCHKEY_RATE_LIMITS. */
  readonly settings?: Record<string, string>;
  /** Another node on the database of an earlier app; it shares keys and clock. */
  readonly beside?: TestApp;
  /** A database that is there already. Default: a fresh one. */
  readonly databaseUrl?: string;
}

/** Declares the same tests for SQLite and for PostgreSQL. */
export function onBothDatabases(
  what: string,
  tests: (open: (options?: AppOptions) => Promise<TestApp>, dialect: Dialect) => void,
): void {
  for (const dialect of ['sqlite', 'postgres'] as const) {
    describe(`${what} (${dialect})`, () => tests((options) => openApp(dialect, options), dialect));
  }
}

const offsets = new WeakMap<TestApp, { ms: number }>();

export async function openApp(
  dialect: Dialect,
  { settings = {}, beside, databaseUrl: given }: AppOptions = {},
): Promise<TestApp> {
  const databaseUrl =
    given ??
    beside?.databaseUrl ??
    (dialect === 'sqlite'
      ? `sqlite:${join(temporaryDirectory(), 'latchkey.db')}`
      : await (await startPostgres()).createDatabase());
  const keys = settings['LATCHKEY_KEYS'] ?? beside?.keys ?? generateKey();
  const config: Config = readConfig({ LATCHKEY_RATE_LIMITS: 'off', ...settings, DATABASE_URL: databaseUrl });
  const statements: string[] = [];
  const logs: string[] = [];
  const log = pino({ base: null }, { write: (line) => void logs.push(line) });
  const lockOrder = withLockOrder(
    await openDatabase(databaseUrl, { log, onStatement: (text) => void statements.push(text) }),
  );
  const { db } = lockOrder;
  const offset = (beside && offsets.get(beside)) ?? { ms: 0 };
  let worker: MailWorker | undefined;
  const metrics = createMetrics(rateLimitNames);
  const ring = parseKeyRing(keys);
  const ctx: Context = {
    config,
    db,
    metrics,
    limiter: createRateLimiter({
      quotas: config.rateLimitsEnabled ? config.rateLimitQuotas : undefined,
      db,
      metrics,
    }),
    log,
    keys: ring,
    logKeys: readLogKeys(ring, settings),
    clock: () => Date.now() + offset.ms,
    random: systemRandom,
    wakeMailWorker: () => worker?.wake(),
  };
  const lifecycle: Lifecycle = { draining: false, inFlight: 0 };
  const app = createApp(ctx, lifecycle);

  const fetch: TestApp['fetch'] = async (url, init, peer = '192.0.2.1') => {
    const response = await app.fetch(new Request(url, init), { peer });
    const { status, headers } = response;
    const { method = 'GET', body = null } = init;
    const known = body === null || typeof body === 'string' ? body : undefined;
    await requireConformance(
      () => readDocument(ctx),
      { method, url, headers: new Headers(init.headers), body: known },
      { status, headers, text: await response.clone().text() },
    );
    return response;
  };

  const ask: TestApp['ask'] = async (
    method,
    path,
    { json, form, raw, token, cookie, headers, peer } = {},
  ) => {
    const sent = new Headers(headers);
    if (token !== undefined) sent.set('Authorization', `Bearer ${token}`);
    if (cookie !== undefined) sent.set('Cookie', cookie);
    if (json !== undefined && !sent.has('Content-Type')) sent.set('Content-Type', 'application/json');
    if (form !== undefined) sent.set('Content-Type', 'application/x-www-form-urlencoded');
    const body =
      raw ??
      (json !== undefined
        ? JSON.stringify(json)
        : form !== undefined
          ? new URLSearchParams(form).toString()
          : null);
    const url = `${config.baseUrl}${path.startsWith('/') ? `/api/v1/auth${path}` : `/${path}`}`;
    const response = await fetch(url, { method, headers: sent, body }, peer);
    const text = await response.text();
    const isJson = response.headers.get('Content-Type')?.startsWith('application/json');
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson && text !== '' ? JSON.parse(text) : undefined,
    };
  };

  /** The mail worker runs only here, so that tests which count statements see their own. */
  const mails: TestApp['mails'] = async () => {
    worker = startMailWorker(ctx, templates, mailboxTransport);
    for (;;) {
      // A digest waits for the end of its hour, and not for this.
      const waiting = await db.read.run(
        `SELECT id FROM outbox WHERE sent_at IS NULL AND dead_at IS NULL
         AND (attempts > 0 OR next_attempt_at <= ${ctx.clock()})`,
        [],
      );
      if (waiting.length === 0) {
        const messages = await readMailbox(ctx, templates);
        await worker.stop();
        worker = undefined;
        return messages.map((mail) => ({
          ...mail,
          token: /#token=(lk_ml_\S+)/.exec(mail.text)?.[1] ?? '',
          code: /^[A-Z]{4}-[A-Z]{4}$/m.exec(mail.text)?.[0] ?? '',
        }));
      }
      await Bun.sleep(5);
    }
  };

  const login: TestApp['login'] = async (email = 'ada@example.com') => {
    await ask('POST', '/magic_link', { json: { email } });
    const mail = (await mails()).find(({ to, token }) => to === email && token);
    const answer = await ask('POST', '/magic_link/verify', { json: { token: mail?.token } });
    if (answer.status !== 200) throw new Error(`login: ${answer.status} ${answer.text}`);
    return answer.body;
  };

  const deviceLogin: TestApp['deviceLogin'] = async (approver) => {
    const { body } = await ask('POST', '/device');
    await ask('POST', '/device/approve', {
      json: { user_code: body.user_code },
      token: approver.access_token,
    });
    const answer = await ask('POST', '/token', { json: { device_code: body.device_code } });
    if (answer.status !== 200) throw new Error(`device login: ${answer.status} ${answer.text}`);
    return answer.body;
  };

  const serviceAuthorization: TestApp['serviceAuthorization'] = async () => {
    const { id, secret } = await createServiceKey(ctx, 'a service of the tests');
    return `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;
  };

  const test: TestApp = {
    app,
    fetch,
    ctx,
    databaseUrl,
    keys,
    lifecycle,
    statements,
    logs,
    pass: (seconds) => {
      offset.ms += seconds * 1000;
    },
    ask,
    mails,
    login,
    deviceLogin,
    serviceAuthorization,
    sweep: () => sweepOnce(db, sweepsOf(ctx), ctx.clock()),
    close: async () => {
      await db.close();
      lockOrder.requireKept();
      requireNoMissedComplaints();
    },
  };
  offsets.set(test, offset);
  return test;
}

/** By an app of its own, so that logs and counts of the test's own app hold nothing of it. */
async function readDocument(ctx: Context): Promise<Document> {
  const silent = { ...ctx, log: pino({ enabled: false }), metrics: createMetrics(rateLimitNames) };
  const app = createApp(silent, { draining: false, inFlight: 0 });
  const request = new Request(`${ctx.config.baseUrl}/openapi.json`);
  return (await (await app.fetch(request, { peer: undefined })).json()) as Document;
}
