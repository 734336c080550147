// The service in this process, on a real database, with a clock that tests can advance.

import { describe } from 'bun:test';
import { createApi } from '@latchkey/client/api';
import type { ServiceRight } from '@latchkey/contract/scopes';
import type { TokenSet } from '@latchkey/contract/tokens';
import { createApp, sweepsOf, templates } from '../../packages/server/src/app.ts';
import { createContext } from '../../packages/server/src/create-context.ts';
import type { Config } from '../../packages/server/src/platform/config/config.ts';
import { readLogKeys } from '../../packages/server/src/platform/config/server-keys.ts';
import type { Context } from '../../packages/server/src/platform/context.ts';
import { generateKey, parseKeyRing } from '../../packages/server/src/platform/crypto/primitives.ts';
import { openDatabase } from '../../packages/server/src/platform/database/database.ts';
import type { Dialect } from '../../packages/server/src/platform/database/executor.ts';
import { sweepOnce } from '../../packages/server/src/platform/database/sweep.ts';
import type { Lifecycle } from '../../packages/server/src/platform/http/server.ts';
import { readMailbox } from '../../packages/server/src/platform/mail/mailbox.ts';
import type { Transport } from '../../packages/server/src/platform/mail/transport.ts';
import { MailWorker } from '../../packages/server/src/platform/mail/worker.ts';
import { createLogger, createLoggerTo } from '../../packages/server/src/platform/telemetry/log.ts';
import { createMetrics } from '../../packages/server/src/platform/telemetry/metrics.ts';
import { systemTimers } from '../../packages/server/src/platform/timers.ts';
import { rateLimitNames, readConfig } from '../../packages/server/src/settings.ts';
import { signInFailureReasons } from '../../packages/server/src/sign-in/failures/failures.ts';
import { type Answer, type Ask, answerOf, requestFor } from './ask.ts';
import { type Borrower, borrowPostgres } from './borrowed-postgres.ts';
import { closeAtTestEnd } from './cleanup.ts';
import { type Document, deviations, requireNone } from './conformance.ts';
import { driverOf } from './driver.ts';
import { codeIn, linkTokenIn } from './http.ts';
import { withLockOrder } from './lock-order.ts';
import { newDatabase } from './new-database.ts';
import { declareService } from './services.ts';
import { shared } from './shared.ts';
import { until } from './until.ts';
import { VirtualTime } from './virtual-time.ts';

export type { Answer, Ask };

export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly token: string;
  readonly code: string;
}

export type Tokens = TokenSet;

export type TestApp = Awaited<ReturnType<typeof openApp>>;

export interface AppOptions {
  /** Unless a test sets them, rate limits are off, and approvals need no passkey (LATCHKEY_APPROVAL). */
  readonly settings?: Record<string, string>;
  /** Starts another node on the database of this app, with the same keys and clock. */
  readonly beside?: { readonly databaseUrl: string; readonly keys: string };
  /** An existing database. Default: a new one. */
  readonly databaseUrl?: string;
}

/** Declares the same tests for SQLite and PostgreSQL. */
export function onBothDatabases(
  what: string,
  tests: (open: (options?: AppOptions) => Promise<TestApp>, dialect: Dialect) => void,
): void {
  for (const dialect of ['sqlite', 'postgres'] as const) {
    describe(`${what} (${dialect})`, () => tests((options) => openApp(dialect, options), dialect));
  }
}

/**
 * Two nodes of one service for the tests of a block, to check that what happens at one takes effect at the other. On SQLite
 * there is one node, so both are the same.
 */
export function sharedNodes(
  open: (options?: AppOptions) => Promise<TestApp>,
  dialect: Dialect,
  options: AppOptions = {},
): { app: TestApp; node: TestApp } {
  const app = shared(() => open(options));
  const node = dialect === 'postgres' ? shared(() => open({ ...options, beside: app })) : app;
  return { app, node };
}

/** What the nodes on one database share, by its address: the time, and the mails delivered so far, by id. */
const sharedBy = new Map<string, { readonly time: VirtualTime; readonly mails: Map<string, Mail> }>();

/** The time at which a new database is opened: any, as long as it is always the same. */
const startOfTime = Date.UTC(2026, 10, 20, 12, 34, 56, 789);

/** A stall of this process must not look like one of PostgreSQL. */
const stallProof = { connectTimeoutSeconds: 120, statementTimeoutMs: 120_000 };

/** How far each request advances the clock, so that what happens later has a later time. */
const requestMs = 1;

export async function openApp(
  dialect: Dialect,
  { settings = {}, beside, databaseUrl: given }: AppOptions = {},
) {
  const own = given ?? beside?.databaseUrl ?? (dialect === 'sqlite' ? await newDatabase(dialect) : undefined);
  const common = sharedBy.get(own ?? '') ?? { time: new VirtualTime(startOfTime), mails: new Map() };
  const { time } = common;
  const statements: string[] = [];
  const logs: string[] = [];
  const log = createLoggerTo({ write: (line) => void logs.push(line) }, 'info');
  const use: Borrower = {
    log,
    onStatement: (text) => void statements.push(text),
    timers: { monotonic: time.clock, sleep: systemTimers.sleep },
  };
  const {
    url: databaseUrl,
    db: opened,
    share,
  } = own === undefined
    ? await borrowPostgres(use, stallProof)
    : { url: own, db: await openDatabase(own, { ...use, ...stallProof }), share: () => undefined };
  sharedBy.set(databaseUrl, common);
  const keys = settings['LATCHKEY_KEYS'] ?? beside?.keys ?? generateKey();
  const config: Config = readConfig({
    LATCHKEY_RATE_LIMITS: 'off',
    LATCHKEY_APPROVAL: 'recent',
    ...settings,
    DATABASE_URL: databaseUrl,
  });
  const lockOrder = withLockOrder(time.of(opened));
  const { db } = lockOrder;
  let worker: MailWorker | undefined;
  const stop = new AbortController();
  const ring = parseKeyRing(keys);
  const { clock, timers } = time;
  const ctx: Context = {
    ...createContext({ config, db, log, keys: ring, logKeys: readLogKeys(ring, settings), clock, timers }),
    wakeMailWorker: () => worker?.wake(),
    stopping: stop.signal,
  };
  const lifecycle: Lifecycle = { draining: false, inFlight: 0 };
  const app = createApp(ctx, lifecycle);

  /** Deviations from the OpenAPI document. A client under test may take their error for a failure of the network. */
  const deviating: string[] = [];
  /** Answers a request. Both request and response must match the OpenAPI document. */
  const fetch = async (url: string, init: RequestInit, peer = '192.0.2.1'): Promise<Response> => {
    time.advance(requestMs);
    const response = await app.fetch(new Request(url, init), { peer });
    const found = await deviations(() => readDocument(ctx), url, init, response);
    deviating.push(...found);
    requireNone(found);
    return response;
  };

  /** Nothing leaves the machine. */
  const api = createApi({
    server: config.baseUrl,
    fetch: (url, init) => fetch(url, init),
    insecureHttp: true,
  });

  const ask = async (method: string, path: string, sent?: Ask): Promise<Answer> =>
    answerOf(await fetch(...requestFor(config.baseUrl, method, path, sent), sent?.peer));

  const read = (mail: Pick<Mail, 'to' | 'subject' | 'text' | 'html'>): Mail => ({
    ...mail,
    token: linkTokenIn(mail),
    code: codeIn(mail),
  });
  const transport: Transport = {
    deliver: async (id, to, message) => void common.mails.set(id, read({ to, ...message })),
    close: () => undefined,
  };

  /**
   * Delivers all mail that is due; returns the mails delivered so far, newest first. The mail worker runs only here, so that
   * tests which count statements count only their own.
   */
  const mails = async (): Promise<Mail[]> => {
    worker = new MailWorker(ctx, templates, transport);
    // A digest stays in the outbox until the end of its hour.
    const isDone = async () => {
      const waiting = await db.read.run(
        `SELECT id FROM outbox WHERE sent_at IS NULL AND dead_at IS NULL
         AND (attempts > 0 OR next_attempt_at <= ${ctx.clock()})`,
        [],
      );
      // A mail of background work may come when the worker has found nothing, and now sleeps until the clock advances.
      if (waiting.length > 0) worker?.wake();
      return waiting.length === 0;
    };
    await until(isDone, 'the delivery of all mail that is due');
    await worker.stop();
    worker = undefined;
    const sent = await db.read.run<{ id: string }>(
      'SELECT id FROM outbox WHERE sent_at IS NOT NULL ORDER BY created_at DESC, id DESC',
      [],
    );
    // A worker of the test itself may have delivered some.
    const isComplete = sent.every(({ id }) => common.mails.has(id));
    return isComplete
      ? sent.map(({ id }) => common.mails.get(id)!)
      : (await readMailbox(ctx, templates)).map(read);
  };

  const linkTokenFor = async (email: string): Promise<string> => {
    await api.call('requestMagicLink', { body: { email } });
    return (await mails()).find(({ to, token }) => to === email && token)?.token ?? '';
  };

  let isClosed = false;
  const close = async () => {
    if (isClosed) return;
    isClosed = true;
    await db.close();
    lockOrder.requireKept();
    requireNone(deviating);
  };

  closeAtTestEnd(close);
  return {
    ...driverOf({ url: config.baseUrl, ask, api, linkTokenFor }),
    app,
    fetch,
    ctx,
    get databaseUrl() {
      share();
      return databaseUrl;
    },
    keys,
    lifecycle,
    /** The SQL of all statements so far. */
    statements,
    /** The log so far, one line of JSON per entry. */
    logs,
    /** Advances the clock, in seconds, and wakes what sleeps until then. */
    pass: (seconds: number): void => time.advance(seconds * 1000),
    /** Advances the clock by so many seconds whenever something waits, until a condition holds. */
    passUntil: (holds: () => boolean | Promise<boolean>, what: string, seconds = 0.1): Promise<void> =>
      until(async () => {
        if (await holds()) return true;
        if (time.sleeping(0) > 0) time.advance(seconds * 1000);
        return false;
      }, what),
    /** Resolves once so many waits of the service, each for at least that many seconds, have begun. */
    untilWaiting: (count: number, seconds: number): Promise<void> =>
      until(
        () => time.sleeping(seconds * 1000) >= count,
        () => `${count} waits of ${seconds} s, of which ${time.sleeping(seconds * 1000)} began`,
      ),
    mails,
    /** The `Authorization` header of a service with a new service key and these rights. */
    serviceAuthorization: async (...rights: ServiceRight[]) =>
      (await declareService(ctx, { name: 'test service', rights })).authorization,
    /** Ends what waits for something, as SIGTERM does. */
    stopWaiting: (): void => stop.abort(),
    sweep: async (): Promise<number> => {
      const { deleted, failed } = await sweepOnce(ctx, sweepsOf(ctx));
      if (failed.length > 0) throw new Error(`the sweep failed: ${failed.join(', ')}`);
      return deleted;
    },
    /** Called at the end of a test that has opened it. */
    close,
  };
}

/** Reads from a separate app, so that the request does not show up in the logs and metrics under test. */
async function readDocument(ctx: Context): Promise<Document> {
  const silent = {
    ...ctx,
    log: createLogger('silent'),
    metrics: createMetrics(rateLimitNames, signInFailureReasons),
  };
  const app = createApp(silent, { draining: false, inFlight: 0 });
  const request = new Request(`${ctx.config.baseUrl}/openapi.json`);
  return (await (await app.fetch(request, { peer: undefined })).json()) as Document;
}
