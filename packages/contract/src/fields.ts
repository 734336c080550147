import { z } from 'zod';
import { isMappedToItself } from './domains.ts';
import { fieldLimits } from './field-limits.ts';

/** A required, non-empty string of at most `max` characters that every database can keep. */
export const text = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .refine(
      (value) => value.isWellFormed() && !value.includes('\0'),
      'must be well-formed text without U+0000',
    );

/** Text for people: also without control characters, and with something to see. */
export const visibleText = (max: number) =>
  text(max)
    .refine((value) => !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(value), 'must not hold control characters')
    .refine((value) => /[^\p{C}\p{Z}]/u.test(value), 'must not be blank');

/** A member of a record that a patch may not name. */
export const readOnly = z
  .unknown()
  .refine((value) => value === undefined, 'cannot be changed here')
  .optional()
  .meta({ readOnly: true, not: {} });

/** What a client hands back as it got it; whether it is well-formed is part of whether it is good. */
export const opaque = (max: number) => z.string().min(1).max(max);

/** A token, link or code as a client sends it back: any non-empty string; whether it is good is decided later. */
export const token = opaque(fieldLimits.token);

/** A moment: RFC 3339, UTC, with milliseconds. */
export const time = z.iso.datetime({ precision: 3 }).meta({
  pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z$',
});

/** A body that asks for nothing; one that comes all the same must be what the interface takes. */
export const emptyObject = z.object({});

/** The number that a parameter of a query spells, in its one spelling; not a number for everything else. */
const numberOf = (value: unknown): number =>
  typeof value === 'string' && /^(0|[1-9]\d{0,2})$/.test(value) ? Number(value) : Number.NaN;

/** Paging of a list: how many, and where the previous page ended. */
export const pagination = z.object({
  limit: z
    .preprocess(numberOf, z.int('must be a whole number').min(1).max(fieldLimits.pageSize))
    .default(fieldLimits.defaultPageSize)
    .meta({ description: `How many entries at most, 1-${fieldLimits.pageSize}.` }),
  cursor: text(fieldLimits.cursor).optional().meta({ description: 'The next_cursor of the previous page.' }),
});

export const nextCursor = z.string().nullable().meta({ description: 'Null on the last page.' });

/**
 * A mail address as typed: one @, no space, control or separator character, the local part at most 64
 * characters, the whole at most 254. Letters outside ASCII are taken as they are in the local part, and never folded. A
 * domain that IDNA mapping would change is refused, so that one mailbox has one spelling.
 */
export const emailAddress = z
  .string()
  .min(3)
  .max(fieldLimits.emailAddress)
  .regex(
    /^[^\s@"(),:;<>[\]\\\p{C}\p{Z}]{1,64}@[\p{L}\p{N}\p{M}](?:[\p{L}\p{N}\p{M}.-]{0,251}[\p{L}\p{N}\p{M}])?$/u,
    'must be one mail address, like ada@example.com',
  )
  .refine(
    (address) => !/^\.|\.\.|\.@|@.*-\.|@.*\.-|@(?:.*\.)?[^.]{64}/.test(address),
    'must be one mail address, like ada@example.com',
  )
  .refine(
    (address) => isMappedToItself(address.slice(address.lastIndexOf('@') + 1)),
    'must have a domain name in ASCII letters: write an international domain in its xn-- form',
  )
  .meta({
    description: 'A mail address. ASCII letter case does not matter.',
    examples: ['ada@example.com'],
    // Wider than the check, and in the few words that regular expressions of all languages share.
    pattern: '^[^@\\s]{1,64}@[^@\\s]{1,252}$',
  });
