import { unlessAborted } from '@latchkey/client/internal/clock';
import { fieldLimits } from '@latchkey/contract/field-limits';
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
  if (value !== undefined && [...value].length > maxLength) {
    throw new UsageError(`${subject} can have at most ${maxLength} characters.`);
  }
}

/** A standard input that is read as text. */
export interface TextSource extends AsyncIterable<Uint8Array | string> {
  readonly isTTY?: boolean;
  /** Only of a terminal. */
  setRawMode?(isRaw: boolean): unknown;
}

/** The first line that is not blank, trimmed. Empty at the end. @throws {LatchkeyError} `aborted` */
export async function readLine(input: TextSource, maxLength: number, signal: AbortSignal): Promise<string> {
  // Without the anchor it would look for the end of a long line from each of its characters.
  const line = /^\s*\S[^\n]*\n/;
  const text = await readUntil(input, line, maxLength, signal);
  return (line.exec(text)?.[0] ?? text).trim();
}

/** The input until `end` matches, or is longer than `maxLength`. @throws {LatchkeyError} `aborted` */
export async function readUntil(
  input: TextSource,
  end: RegExp,
  maxLength: number,
  signal: AbortSignal,
): Promise<string> {
  const read = async () => {
    const decoder = new TextDecoder();
    let text = '';
    for await (const chunk of input) {
      text += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
      if (end.test(text) || text.length > maxLength) break;
    }
    return text;
  };
  return unlessAborted(read(), signal);
}

const units = { '': 1, m: 60, h: 3600, d: 86_400 } as const;

/** Seconds, or a number with a unit: `15m`, `2h`, `30d`. @throws {UsageError} */
export function parseDuration(option: string, text: string): number {
  const [, number = '', unit = ''] = /^(\d{1,12})([mhd]?)$/.exec(text) ?? [];
  if (number === '') {
    throw new UsageError(`${option} takes seconds, or a number with a unit: 15m, 2h, 30d.`);
  }
  return Number(number) * units[unit as keyof typeof units];
}

/** The lifetime of a token that is not stored, in seconds. @throws {UsageError} */
export function checkedExpiry(text: string): number {
  const seconds = parseDuration('--expires', text);
  if (seconds >= fieldLimits.runMinSeconds && seconds <= fieldLimits.runMaxSeconds) return seconds;
  throw new UsageError('A token with a scope of its own can expire in 60 seconds to 1 hour.');
}

/** What a new key or token is to allow. */
export interface RequestedAccess {
  readonly scope: string;
  readonly resource?: string;
}

/** Reads `--scope`, each with one name or several, and `--resource`. @throws {UsageError} */
export function requestedAccess(scope: readonly string[], resource: string | undefined): RequestedAccess {
  const names = scope.flatMap((text) => text.split(/\s+/)).filter((text) => text !== '');
  if (names.length === 0) throw new UsageError('A scope cannot be empty.');
  const text = [...new Set(names)].join(' ');
  requireLength('A scope', text, fieldLimits.scope);
  requireLength('A resource', resource, fieldLimits.resource);
  if (resource === '') throw new UsageError('A resource cannot be empty.');
  return { scope: text, ...(resource === undefined ? {} : { resource }) };
}
