import { createApi } from '@latchkey/client/api';
import { hasCode, LatchkeyError } from '@latchkey/client/errors';
import type { FileCheck } from '@latchkey/client/file-storage';
import type { ProfileView } from '@latchkey/contract/account';
import manifest from '../../package.json' with { type: 'json' };
import type { ProxySetting } from '../config.ts';
import {
  type Connection,
  connect,
  connectWithoutLogins,
  credentialVariable,
  loginCommand,
  type Stored,
  sources,
} from '../connection.ts';
import type { Context } from '../context.ts';
import { type Failure, failureOf, ReportedError } from '../exit.ts';
import { openStorage } from '../storage.ts';
import { duration, localTime, table } from '../text.ts';

type State = 'ok' | 'note' | 'warning' | 'problem';

interface Check {
  readonly name: string;
  readonly state: State;
  readonly text: string;
  readonly hint?: string | undefined;
}

const marks: Record<State, string> = { ok: 'ok', note: '-', warning: '!', problem: 'X' };

/** The `Date` header has whole seconds, and its transfer takes a moment. */
const clockToleranceSeconds = 2;
/** Smaller differences do no harm: lifetimes are counted from the response that brings them. */
const clockWarningSeconds = 60;

/** `latchkey doctor`: checks everything that signing in from here depends on. */
export async function doctor(ctx: Context): Promise<void> {
  const found = await checkFile(ctx);
  const connection = await connectOrDefault(ctx);
  const failures: Failure[] = [];
  const recordFailure = (error: unknown): Failure => {
    if (hasCode(error, 'aborted')) throw error;
    const failure = failureOf(error, {
      login: loginCommand(ctx),
      command: 'latchkey doctor',
      server: connection.server,
      credential: connection.credential,
      hasOtherLogins: false,
    });
    failures.push(failure);
    return failure;
  };
  const server = await checkServer(ctx, connection).catch(recordFailure);
  const credentials = await checkCredentials(connection.stored, found).catch(recordFailure);
  const canTry = !('code' in server) && !('code' in credentials);
  const session = canTry ? await checkSession(ctx, connection).catch(recordFailure) : null;
  const proxies = ctx.config.proxies.map(withoutPassword);

  const { bun, node } = process.versions;
  const place = connection.stored?.place;
  const report = {
    versions: {
      latchkey: manifest.version,
      bun: bun ?? null,
      node: bun === undefined ? node : null,
      platform: `${process.platform} ${process.arch}`,
      server: 'code' in server ? null : server.version,
    },
    server: {
      url: connection.server,
      source: connection.source,
      ...('code' in server
        ? { reachable: false }
        : { reachable: true, latency_milliseconds: server.latency }),
    },
    clock: { difference_seconds: 'code' in server ? null : server.clockDifferenceSeconds },
    credentials: {
      kind: place?.kind ?? 'environment',
      why: place?.why ?? `${credentialVariable(connection)} is set`,
      place: place?.storage.description ?? credentialVariable(connection),
      ...('code' in credentials ? {} : credentials),
    },
    login: session === null || 'code' in session ? null : session,
    proxies,
    problems: failures.map(({ code, message, hint }) => ({ error: code, error_description: message, hint })),
  };
  const checks = [
    serverCheck(connection, server),
    ...('code' in server ? [] : [clockCheck(server.clockDifferenceSeconds)]),
    ...credentialChecks(connection, credentials),
    ...(session === null ? [] : [sessionCheck(ctx, session)]),
    proxyCheck(proxies),
  ];
  ctx.output.result(report, () => [
    `latchkey ${manifest.version}, ${bun === undefined ? `Node.js ${node}` : `Bun ${bun}`}, ${report.versions.platform}`,
    '',
    ...table(checks.map(({ name, state, text }) => [marks[state], name, text])),
    ...checks.flatMap(({ hint }) => (hint === undefined ? [] : ['', hint])),
  ]);
  const [first] = failures;
  if (first) throw new ReportedError(first.status);
}

/** Looks at the modes of the credentials before anything else, since reading them also corrects those. */
async function checkFile({ config }: Context): Promise<FileCheck | undefined> {
  if ((config.token ?? config.agent) !== undefined) return undefined;
  const place = await openStorage(config);
  // What fails here fails again in the check of the credentials, which reports it.
  return place.kind === 'file' ? place.storage.check().catch(() => undefined) : undefined;
}

/** Goes on without logins if the credentials are unreadable, which has a check of its own. */
async function connectOrDefault(ctx: Context): Promise<Connection> {
  try {
    return await connect(ctx);
  } catch (error) {
    if (!hasCode(error, 'store_corrupt', 'store_failed')) throw error;
    return connectWithoutLogins(ctx);
  }
}

interface ServerReport {
  readonly version: string | null;
  readonly latency: number;
  readonly clockDifferenceSeconds: number | null;
}

/** Sends a request without credentials, which only a Latchkey server refuses with the right error. */
async function checkServer(
  { signal, insecureHttp }: Context,
  { server, api: connectionApi }: Connection,
): Promise<ServerReport> {
  let date = Number.NaN;
  const api = createApi({
    server,
    insecureHttp,
    fetch: async (url, init) => {
      const response = await connectionApi.fetch(url, init);
      date = Date.parse(response.headers.get('Date') ?? '');
      return response;
    },
  });
  const [startedAt, started] = [Date.now(), performance.now()];
  await api.call('getProfile', { signal }).catch((error: unknown) => {
    if (!hasCode(error, 'invalid_token')) throw error;
  });
  const latency = performance.now() - started;
  const halfSecond = 500;
  const difference = (startedAt + latency / 2 - (date + halfSecond)) / 1000;
  const document = await api.send('/openapi.json', { signal }).catch(() => undefined);
  const { info } = Object(document?.body) as { info?: { version?: unknown } };
  return {
    version: typeof info?.version === 'string' ? info.version : null,
    latency: Math.round(latency),
    clockDifferenceSeconds: Number.isNaN(difference) ? null : Math.round(difference),
  };
}

interface CredentialReport {
  readonly path: string | null;
  readonly readable_by: string;
  readonly servers: readonly string[];
  /** What was accessible to others, in sentences. */
  readonly findings: readonly { readonly what: string; readonly mended: boolean }[];
}

/** Where the credentials are, who could read them, and whether they can be written. */
async function checkCredentials(
  stored: Stored | undefined,
  found: FileCheck | undefined,
): Promise<CredentialReport> {
  if (!stored) return { path: null, readable_by: 'owner', servers: [], findings: [] };
  const { place } = stored;
  const checked = place.kind === 'file' ? (found ?? (await place.storage.check())) : undefined;
  const servers = Object.keys((await place.storage.read()).servers);
  if (servers.length > 0) {
    await place.storage.lock('document', async () => place.storage.write(await place.storage.read()));
  }
  return {
    path: checked?.path ?? null,
    readable_by: checked?.readableBy ?? 'owner',
    servers,
    findings: checked?.findings ?? [],
  };
}

interface SessionReport {
  readonly state: 'valid' | 'none';
  readonly user?: { readonly id: string; readonly email?: string };
  readonly logged_in_at?: string;
  readonly access_token_expires_at?: string;
}

/** @throws {LatchkeyError} if there is a session that does not work */
async function checkSession({ signal }: Context, { session, stored }: Connection): Promise<SessionReport> {
  try {
    const user = await session.call('getProfile', { signal }).catch((error: unknown) => {
      // A narrow token may not see whose it is.
      if (hasCode(error, 'insufficient_scope')) return undefined;
      throw error;
    });
    const login = await stored?.store.read();
    if (stored && !login) return { state: 'none' };
    return {
      state: 'valid',
      ...(user === undefined ? {} : { user: { id: user.id, ...emailOf(user) } }),
      ...(login ? { logged_in_at: login.logged_in_at } : {}),
      ...(login && login.kind !== 'key'
        ? { access_token_expires_at: new Date(login.access_token_expires_at).toISOString() }
        : {}),
    };
  } catch (error) {
    if (error instanceof LatchkeyError && error.code === 'not_logged_in') return { state: 'none' };
    throw error;
  }
}

const emailOf = ({ email }: ProfileView) => (email === undefined ? {} : { email });

function serverCheck({ server, source }: Connection, report: ServerReport | Failure): Check {
  if ('code' in report) return { name: 'Server', state: 'problem', text: report.message, hint: report.hint };
  const version = report.version === null ? '' : `, version ${report.version}`;
  const text = `${server} (${sources[source]}) answers in ${report.latency} ms${version}`;
  return { name: 'Server', state: 'ok', text };
}

function clockCheck(seconds: number | null): Check {
  if (seconds === null) return { name: 'Clock', state: 'note', text: 'the server does not send its time' };
  const difference = Math.abs(seconds);
  if (difference <= clockToleranceSeconds)
    return { name: 'Clock', state: 'ok', text: "agrees with the server's" };
  const text = `${duration(difference)} ${seconds > 0 ? 'ahead of' : 'behind'} the server's`;
  if (difference <= clockWarningSeconds) return { name: 'Clock', state: 'note', text };
  const hint =
    'Correct the clock of this machine or of the server. Sessions keep working as long as neither clock jumps.';
  return { name: 'Clock', state: 'warning', text, hint };
}

function credentialChecks(connection: Connection, report: CredentialReport | Failure): Check[] {
  const name = 'Credentials';
  const { stored } = connection;
  if ('code' in report) return [{ name, state: 'problem', text: report.message, hint: report.hint }];
  const readers: Record<string, string> = {
    owner: 'only you can read them',
    group: 'your group could read them',
    everyone: 'everyone could read them',
  };
  const who =
    stored?.place.kind === 'file' ? (readers[report.readable_by] ?? 'who can read them is unknown') : '';
  if (!stored) {
    const source = connection.credential === 'agent' ? 'tokens of the agent' : 'the token';
    const text = `${source} in ${credentialVariable(connection)}; nothing stored is used`;
    return [{ name, state: 'ok', text }];
  }
  const { place } = stored;
  const where = `${place.storage.description}, because ${place.why}${who && `; ${who}`}`;
  return [
    { name, state: report.readable_by === 'owner' ? 'ok' : 'warning', text: where },
    ...report.findings.map(({ what, mended }): Check => {
      const text = `${what} ${mended ? 'Its mode has been corrected.' : 'Its mode could not be changed.'}`;
      return { name, state: 'warning', text };
    }),
  ];
}

function sessionCheck(ctx: Context, report: SessionReport | Failure): Check {
  if ('code' in report) return { name: 'Session', state: 'problem', text: report.message, hint: report.hint };
  if (report.state === 'none') {
    return { name: 'Session', state: 'note', text: `none; sign in with \`${loginCommand(ctx)}\`` };
  }
  const { user, logged_in_at: since, access_token_expires_at: expiresAt } = report;
  const left = duration(Math.max(0, (Date.parse(expiresAt ?? '') - Date.now()) / 1000));
  const text = [
    user?.email ?? user?.id ?? 'valid',
    ...(since === undefined ? [] : [`, since ${localTime(since)}`]),
    ...(expiresAt === undefined ? [] : [`; the access token expires in ${left}`]),
  ].join('');
  return { name: 'Session', state: 'ok', text };
}

const proxyCheck = (proxies: readonly ProxySetting[]): Check => ({
  name: 'Proxies',
  state: 'note',
  text: proxies.map(({ name, value }) => `${name}=${value}`).join(' ') || 'none in use',
});

const withoutPassword = ({ name, value }: ProxySetting): ProxySetting => ({
  name,
  value: value.replace(/^([a-z0-9+.-]+:\/\/)?.*@/is, '$1***@'),
});
