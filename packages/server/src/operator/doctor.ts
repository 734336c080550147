import { existsSync, statSync } from 'node:fs';
import type { Command } from 'commander';
import { type Config, ConfigError, keyFilePath, readConfig, unknownSettings } from '../platform/config.ts';
import { inspectDatabase } from '../platform/database/inspect.ts';
import { reachSmtp } from '../platform/mail/transport.ts';
import { redact } from '../platform/telemetry/redact.ts';
import { settingsWarnings } from './warnings.ts';

interface Check {
  readonly state: 'ok' | 'warning' | 'failed';
  readonly text: string;
}

const ok = (text: string): Check => ({ state: 'ok', text });
const warning = (text: string): Check => ({ state: 'warning', text });
const failed = (text: string): Check => ({ state: 'failed', text });

/** Beyond this, codes and links end noticeably too soon or too late. */
const maxClockDifferenceMs = 2_000;
const serviceTimeoutMs = 2_000;

const reason = (error: unknown): string => redact(error instanceof Error ? error.message : String(error));

async function inspectStore(config: Config): Promise<Check[]> {
  try {
    const { pending, clockAheadMs } = await inspectDatabase(config.databaseUrl);
    const clock = Math.round(Math.abs(clockAheadMs ?? 0));
    return [
      ok('the store can be reached'),
      pending.length === 0
        ? ok('all migrations are applied')
        : warning(`the next start will apply ${pending.join(', ')}`),
      ...(clockAheadMs === null
        ? []
        : clock > maxClockDifferenceMs
          ? [failed(`the clocks of this machine and of the database differ by ${clock} ms`)]
          : [ok(`the clocks of this machine and of the database differ by ${clock} ms`)]),
    ];
  } catch (error) {
    return [failed(`the store cannot be read, or was never started on: ${reason(error)}`)];
  }
}

function inspectKeys(config: Config, given: boolean): Check {
  if (given) return ok('LATCHKEY_KEYS is set');
  if (!config.databaseUrl.startsWith('sqlite:')) return failed('LATCHKEY_KEYS must be set with PostgreSQL');
  const path = keyFilePath(config);
  if (!existsSync(path)) return warning(`the key file ${path} is not there; the next start makes it`);
  const mode = statSync(path).mode & 0o777;
  return (mode & 0o077) === 0
    ? ok(`only its owner may read the key file ${path}`)
    : failed(`others may read the key file ${path} (mode ${mode.toString(8)}): chmod 600 it`);
}

async function inspectMail(config: Config): Promise<Check[]> {
  if (!config.smtpUrl) return [];
  try {
    await reachSmtp(config.smtpUrl);
    return [ok('the SMTP server answers')];
  } catch (error) {
    return [failed(`LATCHKEY_SMTP_URL: ${reason(error)}`)];
  }
}

/** Asks the running service what only it has seen. */
async function inspectService(config: Config): Promise<Check[]> {
  const host = ['0.0.0.0', '::'].includes(config.host) ? '127.0.0.1' : config.host;
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${config.port}/metrics`;
  try {
    const headers = config.metricsToken ? { Authorization: `Bearer ${config.metricsToken}` } : {};
    const answer = await fetch(url, { headers, signal: AbortSignal.timeout(serviceTimeoutMs) });
    if (!answer.ok) return [warning(`the service answers ${answer.status} at ${url}`)];
    const count = /^latchkey_untrusted_forwards_total (\d+)$/m.exec(await answer.text())?.[1] ?? '0';
    const forwards =
      count === '0'
        ? ok('no forwarding headers came from untrusted peers')
        : warning(
            `${count} requests came with forwarding headers from a peer that LATCHKEY_TRUSTED_PROXIES does not name: its clients share one address and its limits`,
          );
    return [ok('the service runs'), forwards];
  } catch {
    return [warning(`no service answers at ${url}`)];
  }
}

async function inspect(hasKeys: () => boolean): Promise<Check[]> {
  let config: Config;
  try {
    config = readConfig();
  } catch (error) {
    if (error instanceof ConfigError) return [failed(error.message)];
    throw error;
  }
  return [
    ok('the settings can be used'),
    ...settingsWarnings(config, unknownSettings()).map(warning),
    ...(await inspectStore(config)),
    inspectKeys(config, hasKeys()),
    ...(await inspectMail(config)),
    ...(await inspectService(config)),
  ];
}

/** `doctor`: says what is wrong with settings and surroundings. Changes nothing. */
export function doctorCommand(program: Command, print: (text: string) => void, hasKeys: () => boolean): void {
  program
    .command('doctor')
    .description('check settings, store, keys, mail, proxies and clock; changes nothing')
    .option('--json', 'print the findings as one JSON object')
    .action(async ({ json = false }: { json?: boolean }) => {
      const findings = await inspect(hasKeys);
      const wrong = findings.filter(({ state }) => state === 'failed').length;
      if (json) print(JSON.stringify({ failed: wrong, findings }, null, 2));
      else for (const { state, text } of findings) print(`${state.padEnd(7)}  ${text}`);
      if (wrong > 0) throw new ConfigError(`${wrong === 1 ? '1 check' : `${wrong} checks`} failed.`);
    });
}
