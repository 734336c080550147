import { emailCodeAlphabet, userCodeAlphabet } from '@latchkey/contract/codes';

/** Tokens, with or without their prefix, and email addresses anywhere in a text, such as a driver's error message. */
const secrets = /lk_[a-z]{2}_[\w-]+|[\w-]{80,}|[^\s"<>()=@]+@[^\s"<>()=@]+/g;

/** A user code or email code. It must be the whole text: within one, any two words would match. */
const code = new RegExp(
  [userCodeAlphabet, emailCodeAlphabet].map((set) => `^[${set}]{4}[-._]?[${set}]{4}$`).join('|'),
  'i',
);

export const redact = (text: string): string =>
  code.test(text) ? '[redacted]' : text.replaceAll(secrets, '[redacted]');

/** Why something failed, for people. */
export const reasonOf = (error: unknown): string =>
  redact(error instanceof Error ? error.message : String(error));

/** The code that a system or a driver gives an error; empty if there is none. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : '';

/** Describes an unexpected error for the log: its name, code, stack and cause, redacted. */
export const describeError = (error: unknown): Record<string, unknown> =>
  error instanceof Error
    ? {
        name: error.name,
        code: 'code' in error ? String(error.code) : undefined,
        stack: redact(error.stack ?? error.message),
        cause: error.cause === undefined ? undefined : describeError(error.cause),
      }
    : { name: typeof error };
