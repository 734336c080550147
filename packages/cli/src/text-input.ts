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
