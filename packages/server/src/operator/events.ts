import type { Command } from 'commander';
import { findAccountByEmail } from '../identity/account/account.ts';
import type { Context } from '../platform/context.ts';
import { AuthError } from '../platform/errors.ts';
import { auditLogs, exportEvents } from '../security-log/events/events.ts';

/** Findings told of for each account. */
const maxFindings = 20;

/** Characters that are written at once. */
const chunkLength = 64 * 1024;

type Run = (work: (ctx: Context) => Promise<string>) => Promise<void>;

/** `events verify` and `events export`. */
export function eventCommands(program: Command, run: Run): void {
  const events = program.command('events').description('check and export the security log');

  events
    .command('verify')
    .description(
      'say whether anyone changed, removed or added events; exit status 1 when someone did, or it cannot be told',
    )
    .option('--user <address>', 'one account only')
    .option('--lenient', 'exit status 0 also where a key is not set and seals cannot be checked')
    .action((options: { user?: string; lenient?: true }) => run((ctx) => verify(ctx, options)));

  events
    .command('export')
    .description('write the events as JSON lines, account by account, oldest first')
    .option('--since <time>', 'only events since this RFC 3339 time or date')
    .option('--user <address>', 'one account only')
    .action((options: { since?: string; user?: string }) =>
      run(async (ctx) => {
        const since = options.since === undefined ? 0 : momentOf(options.since);
        await writeLines(exportEvents(ctx, await userOf(ctx, options), since));
        return '';
      }),
    );
}

const userOf = async (ctx: Context, { user }: { user?: string }): Promise<string | undefined> =>
  user === undefined ? undefined : findAccountByEmail(ctx, user);

/** @throws {AuthError} `invalid_request` */
function momentOf(text: string): number {
  const time = /^\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d))?$/.test(text)
    ? Date.parse(text)
    : NaN;
  if (Number.isNaN(time)) {
    throw new AuthError('invalid_request', '--since must be like 2026-01-31 or 2026-01-31T12:00:00Z.');
  }
  return time;
}

/** Lists what is wrong, then sums up. */
async function verify(ctx: Context, options: { user?: string; lenient?: true }): Promise<string> {
  const total = { accounts: 0, damaged: 0, events: 0, unsealed: 0, retired: 0 };
  const retiredKeys = new Set<string>();
  for await (const { userId, audit } of auditLogs(ctx, await userOf(ctx, options))) {
    total.accounts += 1;
    total.events += audit.events;
    total.unsealed += audit.unsealed;
    total.retired += audit.retired;
    for (const key of audit.retiredKeys) retiredKeys.add(key);
    if (audit.findings.length === 0) continue;
    total.damaged += 1;
    const told = audit.findings.slice(0, maxFindings);
    const lines = told.map(({ problem, where }) => `${userId}: ${problem}: ${where}`);
    const more = audit.findings.length - told.length;
    await write([...lines, ...(more > 0 ? [`${userId}: and ${more} more`] : [])].join('\n'));
  }
  const unchecked = total.unsealed + total.retired;
  if (total.damaged > 0 || (!options.lenient && unchecked > 0)) process.exitCode = 1;
  const outcome =
    total.damaged > 0
      ? `${total.damaged} logs are not whole`
      : `nothing was changed${unchecked > 0 ? ' in what can be checked' : ''}`;
  return [
    `Checked ${total.events} events of ${total.accounts} accounts: ${outcome}.`,
    ...(total.unsealed > 0
      ? [
          `${total.unsealed} events have no seal, as from before logs were sealed: they cannot be checked. On a store that was never older, somebody took their seals away.`,
        ]
      : []),
    ...(total.retired > 0
      ? [
          `${total.retired} seals are under keys that are not set (${[...retiredKeys].join(', ')}): they cannot be checked. With those keys in LATCHKEY_RETIRED_KEYS they can.`,
        ]
      : []),
  ].join('\n');
}

/** Resolves when the reader of standard output can take more: false when it has gone, as `head` does. */
const write = (text: string): Promise<boolean> =>
  new Promise((resolve, reject) => {
    process.stdout.write(`${text}\n`, (error) => {
      if (!error) resolve(true);
      else if ('code' in error && error.code === 'EPIPE') resolve(false);
      else reject(error);
    });
  });

async function writeLines(lines: AsyncIterable<string>): Promise<void> {
  // `write` is told of the same error, and decides.
  process.stdout.on('error', () => undefined);
  let chunk: string[] = [];
  let length = 0;
  for await (const line of lines) {
    chunk.push(line);
    length += line.length;
    if (length < chunkLength) continue;
    if (!(await write(chunk.join('\n')))) return;
    chunk = [];
    length = 0;
  }
  if (chunk.length > 0) await write(chunk.join('\n'));
}
