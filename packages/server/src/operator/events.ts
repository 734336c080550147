import { terminalJson } from '@latchkey/contract/untrusted-text';
import { type Command, InvalidArgumentError } from 'commander';
import { findAccountByEmail } from '../identity/account/account.ts';
import { AuthError } from '../platform/errors.ts';
import { auditLogs, auditTotals } from '../security-log/events/auditing.ts';
import { listEventsAfterPosition, type PositionedEvent } from '../security-log/events/reading.ts';
import { type CommandContext, counted, type Run } from './commands.ts';

/** How many findings are printed for each account. */
const maxFindings = 20;

export function eventCommands(program: Command, run: Run): void {
  const events = program.command('events').description('check and follow the security log');

  events
    .command('verify')
    .description(
      'check that no event was changed, removed or added; exits with 1 if one was, or if some cannot be checked',
    )
    .option('--user <address>', 'only the account with this address')
    .option(
      '--lenient',
      'exit with 0 even if some events cannot be checked, for example because a key is missing',
    )
    .action(run(verify));

  events
    .command('follow')
    .description(
      'print the events of all accounts as JSON lines, in the order of their positions, and wait for new ones',
    )
    .option(
      '--after <position>',
      'begin after this position: the last one that was printed',
      parsePosition,
      0,
    )
    .option('--once', 'end when all events are printed')
    .action(run(followEvents));
}

function parsePosition(text: string): number {
  const position = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(position)) {
    throw new InvalidArgumentError('It must be a whole number, 0 or more.');
  }
  return position;
}

/** Prints the findings of each account, and returns the summary. */
async function verify(ctx: CommandContext, options: { user?: string; lenient?: true }): Promise<string> {
  const total = { accounts: 0, damaged: 0, events: 0, retired: 0 };
  const retiredKeys = new Set<string>();
  const only = options.user === undefined ? undefined : await findAccountByEmail(ctx, options.user);
  for await (const { userId, audit } of auditLogs(ctx, only)) {
    total.accounts += 1;
    total.events += audit.events;
    total.retired += audit.retired;
    for (const key of audit.retiredKeys) retiredKeys.add(key);
    if (audit.findings.length === 0) continue;
    total.damaged += 1;
    const shown = audit.findings.slice(0, maxFindings);
    const lines = shown.map(({ problem, where }) => `${userId}: ${problem}: ${where}`);
    const more = audit.findings.length - shown.length;
    await ctx.output.write([...lines, ...(more > 0 ? [`${userId}: and ${more} more`] : [])].join('\n'));
  }
  const totals = await auditTotals(ctx);
  total.retired += totals.retired;
  if (!totals.isComplete)
    await ctx.output.write(
      'removed: a log has fewer events than were counted: it was set back, or its account was removed',
    );
  const { accounts, damaged, events, retired } = total;
  if (!totals.isComplete || damaged > 0 || (retired > 0 && !options.lenient)) ctx.fail();
  const scope = retired > 0 ? ' in the events that can be checked' : '';
  const found = damaged > 0 ? `${counted(damaged, 'log')} not intact` : 'events are missing';
  const outcome = damaged > 0 || !totals.isComplete ? found : `no changes found${scope}`;
  const lines = [`Checked ${counted(events, 'event')} of ${counted(accounts, 'account')}: ${outcome}.`];
  if (retired > 0) {
    // A count that was continued without a key stays unchecked, also once the key is set.
    const why =
      retiredKeys.size > 0
        ? `because these keys are not set: ${[...retiredKeys].join(', ')}. Add them to LATCHKEY_RETIRED_KEYS.`
        : 'because a key was not set at the time of writing.';
    lines.push(`${counted(retired, 'seal')} cannot be checked ${why}`);
  }
  return lines.join('\n');
}

const signals = ['SIGTERM', 'SIGINT'] as const;

const pollMs = 500;

/** How long to wait before the next look at a database that is away. */
const retryMs = 1_000;

interface FollowOptions {
  readonly after: number;
  readonly once?: true;
}

const lineOf = ({ position, ...event }: PositionedEvent): string => terminalJson({ position, ...event });

/**
 * Prints each event of the security log as a JSON line, in the order of their positions, until SIGTERM, SIGINT or the first
 * write after its reader has ended. While the database is unavailable it waits, unless it was called with `--once`.
 */
async function followEvents(ctx: CommandContext, options: FollowOptions): Promise<undefined> {
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
  for (const signal of signals) process.once(signal, stop);
  try {
    await Promise.race([printEvents(ctx, options), stopped]);
  } finally {
    for (const signal of signals) process.off(signal, stop);
  }
}

async function printEvents(ctx: CommandContext, { after, once }: FollowOptions): Promise<void> {
  for (let position = after; ; ) {
    const events = once
      ? await listEventsAfterPosition(ctx, position)
      : await untilReadable(ctx, () => listEventsAfterPosition(ctx, position));
    const last = events.at(-1);
    if (last) {
      if (!(await ctx.output.write(events.map(lineOf).join('\n')))) return;
      position = last.position;
    } else if (once) return;
    else await ctx.timers.sleep(pollMs);
  }
}

/** Repeats a read while the database is away, and says on standard error when that begins and ends. */
async function untilReadable<Read>(
  { timers, output }: CommandContext,
  read: () => Promise<Read>,
): Promise<Read> {
  for (let failures = 0; ; failures++) {
    try {
      const result = await read();
      if (failures > 0) output.say('The database can be read again.');
      return result;
    } catch (error) {
      if (!(error instanceof AuthError) || error.code !== 'temporarily_unavailable') throw error;
      if (failures === 0) output.say('The database cannot be read. Trying again until it can.');
      await timers.sleep(retryMs);
    }
  }
}
