import { unlessAborted } from '@latchkey/client/internal/clock';
import { UsageError } from './exit.ts';

/**
 * Checks text that the service would refuse, before anything is sent.
 * @param subject begins a sentence: "A device name"
 * @throws {UsageError}
 */
export function requireText(subject: string, value: string | undefined, maxLength: number): void {
  if (value === undefined) return;
  if (!/[^\p{C}\p{Z}]/u.test(value)) throw new UsageError(`${subject} cannot be empty.`);
  requireLength(subject, value, maxLength);
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(value)) {
    throw new UsageError(`${subject} cannot contain control characters.`);
  }
}

/** @throws {UsageError} */
export function requireLength(subject: string, value: string | undefined, maxLength: number): void {
  if (value !== undefined && value.length > maxLength) {
    throw new UsageError(`${subject} can have at most ${maxLength} characters.`);
  }
}

/** A standard input that is read as text. */
export interface TextSource extends AsyncIterable<Uint8Array | string> {
  readonly isTTY?: boolean;
}

/**
 * The first line of the input that is not blank, without surrounding spaces. Empty at its end.
 * @throws {LatchkeyError} `aborted`
 */
export async function readLine(input: TextSource, maxLength: number, signal: AbortSignal): Promise<string> {
  const read = async () => {
    const decoder = new TextDecoder();
    let text = '';
    for await (const chunk of input) {
      text += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
      const line = /\S[^\n]*\n/.exec(text);
      if (line) return line[0].trim();
      if (text.length > maxLength) break;
    }
    return text.trim();
  };
  return unlessAborted(read(), signal);
}

const units = { '': 1, m: 60, h: 3600, d: 86_400 } as const;

/**
 * Seconds, or a number with a unit: `15m`, `2h`, `30d`.
 * @throws {UsageError}
 */
export function parseDuration(option: string, text: string): number {
  const [, number = '', unit = ''] = /^(\d{1,12})([mhd]?)$/.exec(text) ?? [];
  if (number === '') {
    throw new UsageError(`${option} takes seconds, or a number with a unit: 15m, 2h, 30d.`);
  }
  return Number(number) * units[unit as keyof typeof units];
}
