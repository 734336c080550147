import { createApi } from '@latchkey/client/api';
import { hasCode, LatchkeyError } from '@latchkey/client/errors';
import type { FileCheck } from '@latchkey/client/file-storage';
import { isLoopbackHost } from '@latchkey/client/internal/loopback';
import manifest from '../../package.json' with { type: 'json' };
import type { ProxySetting } from '../config.ts';
import {
  type Connection,
  connect,
  connectStored,
  connectWithoutLogins,
  credentialVariable,
  loginCommand,
  sources,
} from '../connection.ts';
import type { Context } from '../context.ts';
import { type Failure, failureOf, ReportedError } from '../exit.ts';
import type { Line, Style } from '../output.ts';
import { openStorage } from '../storage.ts';
import { duration, localTime, shortened, table } from '../text.ts';

type State = 'ok' | 'note' | 'warning' | 'problem';

interface Check {
  readonly name: string;
  readonly state: State;
  readonly text: string;
  readonly hint?: string | undefined;
}

/** What a check adds to the JSON, and its lines. */
type Findings<Report> = readonly [Report, ...Check[]];
const findings = <Report>(report: Report, ...checks: Check[]): Findings<Report> => [report, ...checks];

const marks: Record<State, readonly [string, Style?]> = {
  ok: ['ok', 'green'],
  note: ['-'],
  warning: ['!', 'yellow'],
  problem: ['X', 'red'],
};

/** The `Date` header has whole seconds, and its transfer takes a moment. */
const clockToleranceSeconds = 2;
/** Smaller differences do no harm: lifetimes are counted from the response that brings them. */
const clockWarningSeconds = 60;

/** `latchkey doctor`: checks everything that signing in from here depends on. */
export async function doctor(ctx: Context): Promise<void> {
  const found = await checkFile(ctx);
  const connection = await connectOrDefault(ctx);
  const failures: Failure[] = [];
  /** What a check reports, null if it fails, and its lines. */
  const attempt = async <Report>(name: string, check: () => Promise<Findings<Report>>) =>
    check().catch((error: unknown): Findings<null> => {
      if (hasCode(error, 'aborted')) throw error;
      const invocation = { login: loginCommand(ctx), command: 'latchkey doctor', ...connection };
      const failure = failureOf(error, invocation);
      failures.push(failure);
      return [null, { name, state: 'problem', text: failure.message, hint: failure.hint }];
    });
  const [server, ...serverChecks] = await attempt('Server', () => checkServer(ctx, connection));
  const [credentials, ...credentialChecks] = await attempt('Credentials', () =>
    checkCredentials(connection, found),
  );
  const [login, ...sessionChecks] =
    server && credentials ? await attempt('Session', () => checkSession(ctx, connection)) : [null];
  const proxies = ctx.config.proxies.map(withoutPassword);
  const ignoredProxies = ctx.config.ignoredProxies.map(withoutPassword);

  const { bun, node } = process.versions;
  const place = connection.stored?.place;
  const report = {
    versions: {
      latchkey: manifest.version,
      bun: bun ?? null,
      node: bun === undefined ? node : null,
      platform: `${process.platform} ${process.arch}`,
      server: server?.version ?? null,
    },
    server: {
      url: connection.server,
      source: connection.source,
      reachable: server !== null,
      ...(server && { latency_milliseconds: server.latency }),
    },
    clock: { difference_seconds: server?.clockDifferenceSeconds ?? null },
    credentials: {
      kind: place?.kind ?? 'environment',
      why: place?.why ?? `${credentialVariable(connection)} is set`,
      place: place?.storage.description ?? credentialVariable(connection),
      ...credentials,
    },
    login,
    proxies,
    ignored_proxies: ignoredProxies,
    problems: failures.map(({ code, message, hint }) => ({ error: code, error_description: message, hint })),
  };
  const checks = [
    ...serverChecks,
    ...credentialChecks,
    ...sessionChecks,
    ...proxyChecks(connection.server, proxies, ignoredProxies),
  ];
  ctx.output.result(report, () => [
    `latchkey ${manifest.version}, ${bun === undefined ? `Node.js ${node}` : `Bun ${bun}`}, ${report.versions.platform}`,
    '',
    ...table(checks.map(({ name, state, text }) => [marks[state][0], name, text])).map((line, at): Line => {
      const [text = '', style] = marks[checks[at]!.state];
      return style ? { style, text, rest: line.slice(text.length) } : line;
    }),
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

/** Continues without logins if the credentials cannot be read: another check reports that. */
function connectOrDefault(ctx: Context): Promise<Connection> {
  const { token, agent } = ctx.config;
  return (token ?? agent) === undefined
    ? connectStored(ctx).catch(() => connectWithoutLogins(ctx))
    : connect(ctx);
}

/** Sends a request without credentials, which only a Latchkey server refuses with the right error. */
async function checkServer(
  { signal, insecureHttp = false }: Context,
  { server, source, api: connectionApi }: Connection,
) {
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
  const refusal: unknown = await api.call('getProfile', { signal }).then(
    () =>
      new LatchkeyError('not_latchkey', `${server} answers without a token, so it is not a Latchkey server.`),
    (error: unknown) => error,
  );
  if (!hasCode(refusal, 'invalid_token')) throw refusal;
  const ms = performance.now() - started;
  const latency = Math.round(ms);
  const halfSecond = 500;
  const difference = (startedAt + ms / 2 - (date + halfSecond)) / 1000;
  const clockDifferenceSeconds = Number.isNaN(difference) ? null : Math.round(difference);
  const document = await api.send('/openapi.json', { signal }).catch(() => undefined);
  const { info } = Object(document?.body) as { info?: { version?: unknown } };
  const version = typeof info?.version === 'string' ? shortened(info.version) : null;
  const text = `${server} (${sources[source]}) answers in ${latency} ms${version === null ? '' : `, version ${version}`}`;
  return findings(
    { version, latency, clockDifferenceSeconds },
    { name: 'Server', state: 'ok', text },
    clockCheck(clockDifferenceSeconds),
  );
}

function clockCheck(seconds: number | null): Check {
  const name = 'Clock';
  if (seconds === null) return { name, state: 'note', text: 'the server does not send its time' };
  const difference = Math.abs(seconds);
  if (difference <= clockToleranceSeconds) return { name, state: 'ok', text: "agrees with the server's" };
  const text = `${duration(difference)} ${seconds > 0 ? 'ahead of' : 'behind'} the server's`;
  if (difference <= clockWarningSeconds) return { name, state: 'note', text };
  const hint =
    'Correct the clock of this machine or of the server. Sessions keep working as long as neither clock jumps.';
  return { name, state: 'warning', text, hint };
}

const readers: Readonly<Record<FileCheck['readableBy'], string>> = {
  owner: 'only you can read them',
  group: 'your group could read them',
  everyone: 'everyone could read them',
  unknown: 'who can read them is unknown',
};

/** Where the credentials are, who could read them, and whether they can be written. */
async function checkCredentials(
  connection: Connection,
  found: FileCheck | undefined,
): Promise<Findings<object>> {
  const name = 'Credentials';
  const { stored, credential } = connection;
  if (!stored) {
    const source = credential === 'agent' ? 'tokens of the agent' : 'the token';
    const text = `${source} in ${credentialVariable(connection)}; nothing stored is used`;
    const report = { path: null, readable_by: 'owner', servers: [], findings: [] };
    return findings(report, { name, state: 'ok', text });
  }
  const { kind, storage, why } = stored.place;
  const checked = kind === 'file' ? (found ?? (await stored.place.storage.check())) : undefined;
  const servers = Object.keys((await storage.read()).servers);
  if (servers.length > 0) await storage.lock('document', async () => storage.write(await storage.read()));
  const readableBy = checked?.readableBy ?? 'owner';
  return findings(
    { path: checked?.path ?? null, readable_by: readableBy, servers, findings: checked?.findings ?? [] },
    {
      name,
      state: readableBy === 'owner' ? 'ok' : 'warning',
      text: `${storage.description}, because ${why}${checked ? `; ${readers[readableBy]}` : ''}`,
    },
    ...(checked?.findings ?? []).map(({ what, mended }): Check => {
      const text = `${what} ${mended ? 'Its mode has been corrected.' : 'Its mode could not be changed.'}`;
      return { name, state: 'warning', text };
    }),
  );
}

/** @throws {LatchkeyError} if there is a session that does not work */
async function checkSession(ctx: Context, { session, stored }: Connection) {
  const name = 'Session';
  const none = findings(
    { state: 'none' },
    { name, state: 'note', text: `none; sign in with \`${loginCommand(ctx)}\`` },
  );
  try {
    const user = await session.call('getProfile', { signal: ctx.signal }).catch((error: unknown) => {
      // A narrow token may not see whose it is.
      if (hasCode(error, 'insufficient_scope')) return undefined;
      throw error;
    });
    const login = await stored?.store.read();
    if (stored && !login) return none;
    const expiresAt = login && login.kind !== 'key' ? login.access_token_expires_at : undefined;
    const left = expiresAt === undefined ? 0 : Math.max(0, (expiresAt - Date.now()) / 1000);
    const text = [
      user?.email ?? user?.id ?? 'valid',
      ...(login ? [`, since ${localTime(login.logged_in_at)}`] : []),
      ...(expiresAt === undefined ? [] : [`; the access token expires in ${duration(left)}`]),
    ].join('');
    return findings(
      {
        state: 'valid',
        user: user && { id: user.id, email: user.email },
        logged_in_at: login?.logged_in_at,
        access_token_expires_at: expiresAt === undefined ? undefined : new Date(expiresAt).toISOString(),
      },
      { name, state: 'ok', text },
    );
  } catch (error) {
    if (hasCode(error, 'not_logged_in')) return none;
    throw error;
  }
}

/** Which proxy settings requests to the server follow, and which ones this runtime ignores. */
function proxyChecks(
  server: string,
  used: readonly ProxySetting[],
  ignored: readonly ProxySetting[],
): Check[] {
  const name = 'Proxies';
  const list = used.map((setting) => `${setting.name}=${setting.value}`).join(' ');
  const isLocal = isLoopbackHost(new URL(server).hostname);
  const text = list && isLocal ? `${list}; not used for a server on this machine` : list || 'none in use';
  const names = ignored
    .map((setting) => setting.name)
    .filter((name) => used.length > 0 || !/^no_proxy$/i.test(name));
  if (names.length === 0) return [{ name, state: 'note', text }];
  const runtime = process.versions.bun === undefined ? 'Node.js' : 'Bun';
  const hint =
    used.length > 0
      ? `${runtime} prefers a setting in lower case${runtime === 'Bun' ? '' : ', and does not know ALL_PROXY'}.`
      : 'Node.js uses HTTPS_PROXY and HTTP_PROXY if NODE_USE_ENV_PROXY=1 is set.';
  return [
    { name, state: 'note', text },
    {
      name,
      state: isLocal ? 'note' : 'warning',
      text: `${runtime} ignores ${names.join(', ')}`,
      hint: isLocal ? undefined : hint,
    },
  ];
}

const withoutPassword = ({ name, value }: ProxySetting): ProxySetting => ({
  name,
  value: value.replace(/^([a-z0-9+.-]+:\/\/)?.*@/is, '$1***@'),
});
