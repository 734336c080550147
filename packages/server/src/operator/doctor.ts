import { statSync } from 'node:fs';
import { styleText } from 'node:util';
import { showsStyles } from '@latchkey/contract/terminal';
import { type Command, InvalidArgumentError } from 'commander';
import { type Config, storeNameOf } from '../platform/config/config.ts';
import { ConfigError } from '../platform/config/config-error.ts';
import { hasConfiguredKeys, keyFilePath, lacksKeys } from '../platform/config/server-keys.ts';
import {
  type Condition,
  examineDatabase,
  type Inspection,
  inspectDatabase,
  isPooled,
  withReader,
} from '../platform/database/inspect.ts';
import { canWorkWith } from '../platform/database/migrate.ts';
import { defaultPoolSize } from '../platform/database/postgres.ts';
import { reachSmtp } from '../platform/mail/transport.ts';
import { reasonOf } from '../platform/telemetry/redact.ts';
import { readConfig, unknownSettings } from '../settings.ts';
import { settingsWarnings } from './announcement.ts';
import { type CommandIo, counted } from './commands.ts';
import { loadKeys, missingKeyText, unfinishedRestoreText, wrongDirectUrlText } from './open-store.ts';

interface Check {
  readonly state: 'ok' | 'warning' | 'failed';
  readonly text: string;
}

const styles = { ok: 'green', warning: 'yellow', failed: 'red' } as const;

const ok = (text: string): Check => ({ state: 'ok', text });
const warning = (text: string): Check => ({ state: 'warning', text });
const failed = (text: string): Check => ({ state: 'failed', text });

/** With a larger difference, codes and links expire noticeably too early or too late. */
const maxClockDifferenceMs = 2_000;
/** A busy service is running all the same; one that does not listen is noticed at once. */
const serviceTimeoutMs = 20_000;

async function checkStore(config: Config, nodes: number): Promise<Check[]> {
  try {
    const inspection = await inspectDatabase(config.databaseUrl);
    const { server } = inspection;
    return [
      ok('the database can be reached'),
      checkSchema(inspection),
      ...(server ? [await checkRoute(config), checkClock(server.clockAheadMs)] : []),
      checkCondition(await examineDatabase(config.databaseUrl)),
      ...(inspection.pending.length === 0 ? await checkRestore(config) : []),
      ...(server?.openToPublic ? [checkAccess(server.openToPublic)] : []),
      ...(server ? [checkConnections(config, nodes, server.maxConnections)] : []),
    ];
  } catch (error) {
    return [failed(`the database cannot be read: ${reasonOf(error)}`)];
  }
}

/** How this machine reaches PostgreSQL. */
async function checkRoute(config: Config): Promise<Check> {
  const wrong = await wrongDirectUrlText(config);
  if (wrong !== undefined) return failed(wrong);
  return config.databaseDirectUrl === undefined && (await isPooled(config.databaseUrl))
    ? failed(
        'a pooler is before PostgreSQL: set LATCHKEY_DATABASE_DIRECT_URL to the same database without it',
      )
    : ok('statements reach PostgreSQL as they must');
}

function checkCondition({ damage, unwritable }: Condition): Check {
  if (damage.length > 0)
    return failed(
      `the database is damaged (${damage.join('; ')}): stop the service, keep a copy of the files, and restore a backup`,
    );
  return unwritable === undefined
    ? ok('the database is not damaged and takes writes')
    : failed(`the database takes no writes: ${unwritable}`);
}

async function checkRestore(config: Config): Promise<Check[]> {
  const text = await withReader(config.databaseUrl, (read) => unfinishedRestoreText(config, read));
  return text === undefined ? [] : [failed(`${text}; until then the service does not start`)];
}

function checkSchema({ pending, later }: Inspection): Check {
  if (!later.every((name) => canWorkWith(name)))
    return failed(
      'the database was written by a newer release, and this program does not start: install that release',
    );
  if (later.length > 0)
    return warning('the database was written by a newer release: replace this program soon');
  return pending.length === 0
    ? ok('all migrations are applied')
    : warning(`the next start will apply these migrations: ${pending.join(', ')}`);
}

const checkAccess = (database: string): Check =>
  warning(
    `every role of the database server may connect to the database: run REVOKE CONNECT ON DATABASE "${database}" FROM PUBLIC`,
  );

/** Each process has its pool and one connection that listens. */
function checkConnections(config: Config, processes: number, allowed: number): Check {
  const needed = processes * (defaultPoolSize + 1);
  const text = `${counted(processes, 'process', 'processes')} may open ${needed} connections; the database allows ${allowed}`;
  if (config.databaseDirectUrl !== undefined) return ok(`${text}, but a pooler is between them`);
  if (needed <= allowed) return ok(text);
  return warning(`${text}: raise max_connections of PostgreSQL, or put a pooler between them`);
}

function checkClock(aheadMs: number): Check {
  const differenceMs = Math.round(Math.abs(aheadMs));
  const text = `the clocks of this machine and of the database differ by ${differenceMs} ms`;
  return differenceMs > maxClockDifferenceMs ? failed(text) : ok(text);
}

async function checkKeys(config: Config, env: CommandIo['env']): Promise<Check> {
  try {
    const isNew = lacksKeys(config, env);
    const keys = isNew ? undefined : loadKeys(config, env);
    const missing = await withReader(config.databaseUrl, (read) => missingKeyText(config, read, keys)).catch(
      // Without a database, which has a check of its own, nothing is sealed.
      () => undefined,
    );
    if (missing !== undefined) return failed(`the service does not start: ${missing}`);
    return isNew
      ? warning(`the key file ${keyFilePath(config)} does not exist; the next start creates it`)
      : checkKeyFile(config, env);
  } catch (error) {
    return failed(reasonOf(error));
  }
}

function checkKeyFile(config: Config, env: CommandIo['env']): Check {
  if (hasConfiguredKeys(env)) return ok('LATCHKEY_KEYS is set');
  const path = keyFilePath(config);
  const mode = statSync(path).mode & 0o777;
  return (mode & 0o077) === 0
    ? ok(`the key file ${path} is readable by its owner only`)
    : failed(`the key file ${path} is readable by others (mode ${mode.toString(8)}); run: chmod 600 ${path}`);
}

async function checkMail(config: Config): Promise<Check[]> {
  if (!config.smtpUrl) return [];
  try {
    await reachSmtp(config.smtpUrl);
    return [ok('the SMTP server accepts connections')];
  } catch (error) {
    return [failed(`LATCHKEY_SMTP_URL: ${reasonOf(error)}`)];
  }
}

/** Asks the running service whether it is ready, and reads its metrics, which show what only it can see. */
async function checkService(config: Config): Promise<Check[]> {
  const url = ownServiceUrl(config);
  try {
    const readiness = await askService(`${url}/readyz`);
    return [
      readiness.ok
        ? ok(`the service at ${url} is running and ready`)
        : failed(
            `a service is running, but ${url}/readyz answers ${readiness.status}: it cannot use its database, or it is stopping`,
          ),
      ...(await checkMetrics(config, `${url}/metrics`)),
    ];
  } catch {
    return [warning(`no service is running at ${url}`)];
  }
}

/** A proxy of the environment would see the metrics token, and cannot reach this machine. */
const withoutProxy: object = { proxy: false };

const askService = (url: string, headers: Record<string, string> = {}, timeoutMs = serviceTimeoutMs) =>
  fetch(url, { headers, signal: AbortSignal.timeout(timeoutMs), ...withoutProxy });

async function checkMetrics({ metricsToken }: Config, url: string): Promise<Check[]> {
  const response = await askService(url, metricsToken ? { Authorization: `Bearer ${metricsToken}` } : {});
  if (!response.ok) return [warning(`${url} answers ${response.status}`)];
  const count = /^latchkey_untrusted_forwards_total (\d+)$/m.exec(await response.text())?.[1] ?? '0';
  return [
    count === '0'
      ? ok('no forwarding headers from untrusted proxies')
      : warning(
          `${counted(Number(count), 'request')} had forwarding headers from a proxy that is not in LATCHKEY_TRUSTED_PROXIES: its clients share one address and its rate limits`,
        ),
  ];
}

async function runChecks({ env, output }: CommandIo, nodes: number): Promise<Check[]> {
  let config: Config;
  try {
    config = readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return [failed(error.message)];
    throw error;
  }
  output.say(`Store: ${storeNameOf(config)}`);
  return [
    ok('the settings are valid'),
    ...settingsWarnings(config, unknownSettings(env)).map(warning),
    ...(await checkStore(config, nodes)),
    await checkKeys(config, env),
    ...(await checkMail(config)),
    ...(await checkService(config)),
  ];
}

function nodesIn(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number from 1 to 9999.');
}

/** `doctor`: checks the settings and everything the service depends on. Changes nothing. */
export function doctorCommand(program: Command, io: CommandIo): void {
  program
    .command('doctor')
    .description('check settings, database, keys, email, proxies and clock; changes nothing')
    .option('--json', 'print the results as one JSON object')
    .option(
      '--nodes <number>',
      'how many processes run the service on this database, on all machines',
      nodesIn,
      1,
    )
    .action(async ({ json = false, nodes }: { json?: boolean; nodes: number }) => {
      const checks = await runChecks(io, nodes);
      const failures = checks.filter(({ state }) => state === 'failed').length;
      const isStyled = io.output.isTerminal && showsStyles(io.env);
      if (json) await io.output.write(JSON.stringify({ failed: failures, findings: checks }, null, 2));
      for (const { state, text } of json ? [] : checks) {
        const label = state.padEnd(7);
        await io.output.write(
          `${isStyled ? styleText(styles[state], label, { validateStream: false }) : label}  ${text}`,
        );
      }
      if (failures > 0) throw new ConfigError(`${counted(failures, 'check')} failed.`);
    });
}

/** The address of the running service for commands on the same machine, without a slash at its end. */
function ownServiceUrl({ host, port }: Config): string {
  const name = ['0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

/** Shorter than the timeout of a health check in `deploy/`, so that the reason is printed. */
const healthTimeoutMs = 3_000;

/** `health`: asks the running service whether it is ready, for container images, which have no other HTTP client. */
export function healthCommand(program: Command, { env }: CommandIo): void {
  program
    .command('health')
    .description('ask the service on this machine whether it is ready; fails if it is not')
    .action(async () => {
      const url = `${ownServiceUrl(readConfig(env))}/readyz`;
      const response = await askService(url, {}, healthTimeoutMs).catch(() => undefined);
      if (!response) throw new ConfigError(`No response from ${url}.`);
      if (!response.ok) throw new ConfigError(`${url} answers ${response.status}.`);
    });
}
