import { z } from 'zod';
import { isMappedToItself } from './domains.ts';
import { fieldLimits } from './field-limits.ts';

/** A required, non-empty string of up to `max` characters that every supported database can store. */
export const text = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .refine(
      (value) => value.isWellFormed() && !value.includes('\0'),
      'must be well-formed text without U+0000',
    );

/** Text for people: without control characters, and not blank. */
export const visibleText = (max: number) =>
  text(max)
    .refine((value) => !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(value), 'must not contain control characters')
    .refine((value) => /[^\p{C}\p{Z}]/u.test(value), 'must not be blank');

/** A member that cannot be patched. */
export const readOnly = z
  .unknown()
  .refine((value) => value === undefined, 'cannot be changed')
  .optional()
  .meta({ readOnly: true, not: {} });

/** An opaque string. Its content is checked by whatever uses it, not by the schema. */
export const opaque = (max: number) => z.string().min(1).max(max);

/** An opaque token, checked by whatever redeems it. */
export const token = opaque(fieldLimits.token);

/** An RFC 3339 timestamp in UTC, with milliseconds. */
export const time = z.iso.datetime({ precision: 3 }).meta({
  pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z$',
});

/** The body of a request without parameters. */
export const emptyObject = z.object({});

/** Parses a query parameter in canonical decimal form; NaN for anything else. */
const parseNumber = (value: unknown): number =>
  typeof value === 'string' && /^(0|[1-9]\d{0,2})$/.test(value) ? Number(value) : Number.NaN;

/** Query parameters of a paginated list. */
export const pagination = z.object({
  limit: z
    .preprocess(parseNumber, z.int('must be a whole number').min(1).max(fieldLimits.pageSize))
    .default(fieldLimits.defaultPageSize)
    .meta({ description: `Maximum number of entries, 1-${fieldLimits.pageSize}.` }),
  cursor: text(fieldLimits.cursor).optional().meta({ description: 'The next_cursor of the previous page.' }),
});

export const nextCursor = z
  .string()
  .nullable()
  .meta({ description: 'The cursor of the next page. Null on the last page.' });

/**
 * An email address, kept as typed: one @, no spaces, control or separator characters, up to 64 characters before the @
 * and 254 in total. Non-ASCII letters are accepted before the @ and never folded. A domain that IDNA mapping would change
 * is rejected, so that one mailbox has one spelling.
 */
export const emailAddress = z
  .string()
  .min(3)
  .max(fieldLimits.emailAddress)
  .regex(
    /^[^\s@"(),:;<>[\]\\\p{C}\p{Z}]{1,64}@[\p{L}\p{N}\p{M}](?:[\p{L}\p{N}\p{M}.-]{0,251}[\p{L}\p{N}\p{M}])?$/u,
    'must be an email address, like ada@example.com',
  )
  .refine(
    (address) => !/^\.|\.\.|\.@|@.*-\.|@.*\.-|@(?:.*\.)?[^.]{64}/.test(address),
    'must be an email address, like ada@example.com',
  )
  .refine(
    (address) => isMappedToItself(address.slice(address.lastIndexOf('@') + 1)),
    'must have its domain in ASCII: write an international domain in its xn-- form',
  )
  .meta({
    description: 'An email address. The case of ASCII letters is ignored.',
    examples: ['ada@example.com'],
    // Looser than the validation, and limited to syntax that all regular expression dialects share.
    pattern: '^[^@\\s]{1,64}@[^@\\s]{1,252}$',
  });
