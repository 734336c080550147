import { unlessAborted } from '@latchkey/client/internal/clock';
import { Cancelled } from './exit.ts';
import type { Output } from './output.ts';
import type { TextSource } from './text-input.ts';

export function createPrompt(stdin: () => TextSource, output: Output, signal: AbortSignal) {
  // One for all questions, since a stream that was left in the middle of a loop is closed.
  let chunks: AsyncIterator<Uint8Array | string> | undefined;
  let typed = '';
  const decoder = new TextDecoder();

  /** Reads until a line is complete; false at the end of the input. */
  const readLine = async (): Promise<boolean> => {
    chunks ??= stdin()[Symbol.asyncIterator]();
    while (!typed.includes('\n')) {
      const { value, done } = await unlessAborted(chunks.next(), signal);
      if (done) return false;
      typed += typeof value === 'string' ? value : decoder.decode(value, { stream: true });
    }
    return true;
  };

  return {
    /** Whether there is a person to ask: standard input and standard error are terminals. */
    get isPossible(): boolean {
      return output.isTerminal && stdin().isTTY === true;
    },
    /** The line that the person types, trimmed; undefined at the end. @throws {LatchkeyError} `aborted` */
    ask: async (question: string): Promise<string | undefined> => {
      output.question(`${question} `);
      let isComplete = false;
      try {
        isComplete = await readLine();
      } finally {
        // Otherwise the terminal has echoed the end of the line.
        if (!isComplete) output.question('\n');
      }
      if (!isComplete) return undefined;
      const [line = '', ...rest] = typed.split('\n');
      typed = rest.join('\n');
      return line.trim();
    },
  };
}

export type Prompt = ReturnType<typeof createPrompt>;

/**
 * Asks for confirmation. Without a terminal, the command continues without asking.
 * @param declined what the command reports if the answer is anything but yes
 * @throws {Cancelled}
 */
export async function confirm(prompt: Prompt, question: string, declined: string): Promise<void> {
  if (!prompt.isPossible) return;
  if (!/^y(es)?$/i.test((await prompt.ask(`${question} [y/N]`)) ?? '')) throw new Cancelled(declined);
}
