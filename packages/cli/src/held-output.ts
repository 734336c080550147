// The output of a program that waits while its person is asked about it.

import type { Readable } from 'node:stream';
import { systemClock } from '@latchkey/client/internal/clock';
import type { Output } from './output.ts';

const pauseMs = 50;
const quietPauses = 10;
const maxPauses = 100;

export type HeldOutput = ReturnType<typeof createHeldOutput>;

/** Passes output on, except during a question: a program must not overwrite a question about itself. */
export function createHeldOutput(output: Output) {
  let question: Promise<unknown> | undefined;
  let parts = 0;
  const writing = new Set<Promise<void>>();
  const relays: Promise<void>[] = [];
  const relay = async (from: Readable, to: 'stdout' | 'stderr'): Promise<void> => {
    const write = output.relay(to);
    try {
      for await (const part of from) {
        while (question) await question;
        const written = write(part);
        writing.add(written);
        await written.finally(() => writing.delete(written));
        parts++;
      }
    } catch {
      // Leaving the loop has closed the stream, so that the program learns of it.
    }
  };
  return {
    /** Passes a stream on, to its end or until nobody reads it. */
    relay: (from: Readable, to: 'stdout' | 'stderr'): void => {
      relays.push(relay(from, to));
    },
    /**
     * Resolves at the end of the streams, once their program has ended. Others that it left behind may hold them open: then once
     * no more output comes, or after some seconds.
     */
    async drain(): Promise<void> {
      let isOver = false;
      const over = Promise.all(relays).then(() => {
        isOver = true;
      });
      // Every pause lets the streams be read, however late this process runs.
      for (let pauses = 0, quiet = 0; pauses < maxPauses && quiet < quietPauses && !isOver; pauses++) {
        const before = parts;
        await Promise.race([over, systemClock.sleep(pauseMs)]);
        quiet = parts === before && writing.size === 0 ? quiet + 1 : 0;
      }
    },
    /** Asks once everything that was passed on is written. */
    async hold<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
      const { promise, resolve } = Promise.withResolvers<void>();
      question = promise;
      try {
        await Promise.allSettled(writing);
        return await ask();
      } finally {
        question = undefined;
        resolve();
      }
    },
  };
}
