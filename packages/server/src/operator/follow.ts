import type { Context } from '../platform/context.ts';
import { AuthError } from '../platform/errors.ts';
import { listEventsAfterPosition, type PositionedEvent } from '../security-log/events/reading.ts';
import { ocsfEvent } from './ocsf.ts';
import { safeJson, write } from './output.ts';

const pollMs = 500;

/** How long to wait before the next look at a database that is away. */
const retryMs = 1_000;

export type EventFormat = 'json' | 'ocsf';

export interface FollowOptions {
  readonly format: EventFormat;
  /** Begins with the first event after this position. */
  readonly after: number;
  /** Ends when all events are printed. */
  readonly once?: true;
}

const lineOf: Readonly<Record<EventFormat, (event: PositionedEvent) => string>> = {
  json: ({ position, ...event }) => safeJson({ position, ...event }),
  ocsf: (event) => safeJson(ocsfEvent(event)),
};

/**
 * Prints each event of the security log as a JSON line, in the order of their positions, until SIGTERM, SIGINT or the first
 * write after its reader has ended. While the database is unavailable it waits, unless it was called with `--once`.
 */
export async function followEvents(ctx: Context, options: FollowOptions): Promise<void> {
  const stopped = Promise.withResolvers<void>();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopped.resolve());
  await Promise.race([printEvents(ctx, options), stopped.promise]);
}

async function printEvents(ctx: Context, { format, after, once }: FollowOptions): Promise<void> {
  for (let position = after; ; ) {
    const events = once
      ? await listEventsAfterPosition(ctx, position)
      : await untilReadable(() => listEventsAfterPosition(ctx, position));
    const last = events.at(-1);
    if (last) {
      if (!(await write(events.map(lineOf[format]).join('\n')))) return;
      position = last.position;
    } else if (once) return;
    else await Bun.sleep(pollMs);
  }
}

/** Repeats a read while the database is away, and says on standard error when that begins and ends. */
async function untilReadable<Result>(read: () => Promise<Result>): Promise<Result> {
  for (let failures = 0; ; failures++) {
    try {
      const result = await read();
      if (failures > 0) process.stderr.write('The database can be read again.\n');
      return result;
    } catch (error) {
      if (!(error instanceof AuthError) || error.code !== 'temporarily_unavailable') throw error;
      if (failures === 0) process.stderr.write('The database cannot be read. Trying again until it can.\n');
      await Bun.sleep(retryMs);
    }
  }
}
