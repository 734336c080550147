import { codeAlphabet } from '@latchkey/contract/codes';

/** Tokens with or without their prefix, and mail addresses, inside a text such as a driver's error message. */
const secrets = /lk_[a-z]{2}_[\w-]+|[\w-]{80,}|[^\s"<>()=@]+@[^\s"<>()=@]+/g;

/** What a person types to log in. Only whole texts count: as a part, any two words would. */
const code = new RegExp(`^[${codeAlphabet}]{4}[-._]?[${codeAlphabet}]{4}$`, 'i');

/** A text without what would let its reader in. */
export const redact = (text: string): string =>
  code.test(text) ? '[redacted]' : text.replaceAll(secrets, '[redacted]');

/** What the log may say of an error nobody expected: its kind, code and place, with secrets taken out. */
export const describeError = (error: unknown): Record<string, unknown> =>
  error instanceof Error
    ? {
        name: error.name,
        code: 'code' in error ? String(error.code) : undefined,
        stack: redact(error.stack ?? error.message),
        cause: error.cause === undefined ? undefined : describeError(error.cause),
      }
    : { name: typeof error };
