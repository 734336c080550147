// The output of a program that waits while its person is asked about it.

import type { Readable } from 'node:stream';
import type { Output } from './output.ts';

export type HeldOutput = ReturnType<typeof createHeldOutput>;

/** Passes output on, but for the time of a question: a program must not write over one that is about itself. */
export function createHeldOutput(output: Output) {
  let question: Promise<unknown> | undefined;
  const writing = new Set<Promise<void>>();
  return {
    /** Resolves at the end of the stream, or once nobody reads what it passes on. */
    async relay(from: Readable, to: 'stdout' | 'stderr'): Promise<void> {
      const write = output.relay(to);
      try {
        for await (const chunk of from) {
          while (question) await question;
          const written = write(chunk);
          writing.add(written);
          await written.finally(() => writing.delete(written));
        }
      } catch {
        // Leaving the loop has closed the stream, so that the program learns of it.
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
