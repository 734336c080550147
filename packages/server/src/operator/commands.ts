// What the commands of latchkey-server have in common.

import type { Command } from 'commander';
import type { Environment } from '../platform/config/environment.ts';
import type { Context } from '../platform/context.ts';
import type { PageRequest } from '../platform/database/pagination.ts';
import type { Nothing } from '../platform/http/call.ts';
import type { Output, Table } from './output.ts';

/** What a command uses of the process that runs it. */
export interface CommandIo {
  /** The settings. */
  readonly env: Environment;
  readonly output: Output;
  /** Makes the exit status 1 without an error message. */
  readonly fail: () => void;
}

export type CommandContext = Context & CommandIo;

export type Work<Received extends unknown[]> = (
  ctx: CommandContext,
  ...received: Received
) => Promise<string | Nothing>;

/** Makes the action of a command: it runs the work on an existing database, and prints the text that this returns. */
export type Run = <Received extends unknown[]>(
  work: Work<Received>,
) => (...received: Received) => Promise<void>;

export interface Runners extends CommandIo {
  readonly readEnvFile: (file: string | undefined) => void;
  readonly serve: () => Promise<void>;
  readonly migrate: () => Promise<void>;
  readonly runOnStore: Run;
  /** As `runOnStore`, on a restored database, too, and under any keys. */
  readonly runOnRestored: (restoring: Restoring) => Run;
}

export interface Restoring {
  /** The keys of that time are lost: new ones are made where there are none. */
  readonly anyKeys?: boolean;
}

/** Returns what adds a command with one argument, whose work returns the text to print. */
export const withArgument =
  (parent: Command, run: Run, argument: string) =>
  (name: string, description: string, work: Work<[value: string]>) =>
    parent.command(`${name} <${argument}>`).description(description).action(run(work));

/** Lets a command print a list as a table or, with `--json`, as JSON lines. */
export const printsList = <Entry>(
  command: Command,
  run: Run,
  table: Table<Entry>,
  list: (ctx: CommandContext) => AsyncIterable<Entry> | Iterable<Entry>,
): Command =>
  command
    .option('--json', 'print JSON lines instead of a table')
    .action(run((ctx) => ctx.output.writeList(list(ctx), table, command.opts<{ json?: true }>())));

const pageSize = 500;

/** All entries of a list, a page at a time. */
export async function* allPages<Name extends string, Entry>(
  name: Name,
  read: (
    page: PageRequest,
  ) => Promise<{ readonly next_cursor: string | null } & Readonly<Record<Name, readonly Entry[]>>>,
): AsyncGenerator<Entry> {
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await read({ limit: pageSize, cursor });
    yield* page[name];
    cursor = page.next_cursor;
  }
}

/** A number with its noun, such as "2 events". */
export const counted = (count: number, noun: string, plural = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : plural}`;
