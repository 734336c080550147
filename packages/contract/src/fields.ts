import { z } from 'zod';
import { asciiDomainOf, isMappedToItself } from './domains.ts';
import { examples } from './examples.ts';
import { fieldLimits } from './field-limits.ts';

/** A schema with what the document says about it. */
export const described = <Schema extends z.ZodType>(
  schema: Schema,
  description: string,
  ...examples: readonly unknown[]
): Schema => schema.meta({ description, ...(examples.length === 0 ? {} : { examples: [...examples] }) });

export const model = <Shape extends z.ZodRawShape>(id: string, description: string, shape: Shape) =>
  z.object(shape).meta({ id, description });

/** A string that every supported database can store. */
export const storable = (schema: z.ZodString) =>
  schema.refine(
    (value) => value.isWellFormed() && !value.includes('\0'),
    'must be well-formed text without U+0000',
  );

/** A required, non-empty, storable string of up to `max` characters. */
export const text = (max: number) => storable(z.string().min(1).max(max));

/** Text for people: without control characters, and not blank. */
export const visibleText = (max: number) =>
  text(max)
    .refine((value) => !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(value), 'must not contain control characters')
    .refine((value) => /[^\p{C}\p{Z}]/u.test(value), 'must not be blank');

/** A member that no value is accepted for. */
export const absent = (rule: string) =>
  z
    .unknown()
    .refine((value) => value === undefined, rule)
    .optional()
    .meta({ not: {} });

const readOnly = absent('cannot be changed').meta({ readOnly: true });

/** Members that cannot be patched: all of these. */
export const readOnlyMembers = <Shape extends z.ZodRawShape>({ shape }: z.ZodObject<Shape>) =>
  Object.fromEntries(Object.keys(shape).map((name) => [name, readOnly])) as {
    [Name in keyof Shape]: typeof readOnly;
  };

/** An opaque string. Its content is checked by whatever uses it, not by the schema. */
export const opaque = (max: number) => z.string().min(1).max(max);

/** A secret. White space around it is ignored: variables and files often end with a line break. */
export const secret = (max: number) => opaque(max).trim();

/** An opaque token, checked by whatever redeems it. */
export const token = secret(fieldLimits.token);

export const emailedToken = (example: string) =>
  described(token, 'The token in the emailed link, after `#token=`.', example);

/** An optional field whose content is checked by whatever takes it. */
export const field = (description: string, example: string, max: number = fieldLimits.bodyBytes) =>
  described(opaque(max).optional(), description, example);

/** A parameter that is refused, although RFC 6749 section 3.2 says to ignore unknown ones. */
export const notSupported = text(fieldLimits.bodyBytes)
  .optional()
  // No example: no value is accepted.
  .meta({ description: 'Not supported: refused.', examples: [] });

export const shown = (description: string, example: string | null) =>
  described(z.string(), description, example);

export const shownOrNull = (description: string, example: string | null) =>
  described(z.string().nullable(), description, example);

export const flag = (description: string, example: boolean) => described(z.boolean(), description, example);

export const int = (description: string, example: number) => described(z.int(), description, example);

export const url = (description: string, example: string) => described(z.url(), description, example);

export const texts = (description: string, example: readonly string[]) =>
  described(z.array(z.string()), description, example);

/** An RFC 3339 timestamp in UTC, with milliseconds. */
export const time = z.iso.datetime({ precision: 3 }).meta({
  pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z$',
  examples: [examples.time],
});

export const userId = shown('The id of the user.', examples.userId);

export const addressShown = shown("The user's email address, as it was first typed.", examples.email);

export const emailVerified = flag('Whether the user has proved that they receive email there.', true);

export const personName = shown('The name that the user goes by. May be empty.', 'Ada Lovelace');

export const pictureUrl = shownOrNull(
  "The https address of the user's picture. Null if not set.",
  'https://images.example/ada.png',
);

export const ipAddress = shownOrNull('The address of the client. Null if unknown.', examples.ipAddress);

export const userAgent = shownOrNull(
  'The User-Agent header of the request. Sent by the client, so unverified. Null if there was none.',
  examples.userAgent,
);

export const clientName = shownOrNull(
  'The name of the program, as it gave it. Unverified. Null if it gave none.',
  'Example CLI',
);

export const deviceName = shownOrNull(
  'The name of the device, as the program gave it. Unverified. Null if it gave none.',
  'den',
);

export const expiresIn = (what: string, seconds: number) => int(`Seconds until ${what} expires.`, seconds);

export const emptyObject = z.object({});

/** Parses a query parameter in canonical decimal form; NaN for anything else. */
const parseNumber = (value: unknown): number =>
  typeof value === 'string' && /^(0|[1-9]\d{0,2})$/.test(value) ? Number(value) : Number.NaN;

/** A whole number, with one sentence for everything else. */
export const wholeNumber = (min: number, max: number) => {
  const rule = `must be a whole number from ${min} to ${max}`;
  return z.int(rule).min(min, rule).max(max, rule);
};

export const pagination = z.object({
  limit: described(
    z.preprocess(parseNumber, wholeNumber(1, fieldLimits.pageSize)).default(fieldLimits.defaultPageSize),
    'Maximum number of entries.',
    20,
  ),
  cursor: described(
    text(fieldLimits.cursor).optional(),
    'The next_cursor of the previous page.',
    examples.cursor,
  ),
});

const nextCursor = shownOrNull('The cursor of the next page. Null on the last page.', examples.cursor);

/** A page of a list, with the cursor of the next page. */
export const pageOf = <Shape extends z.ZodRawShape>(id: string, description: string, shape: Shape) =>
  model(id, description, { ...shape, next_cursor: nextCursor });

/** The length that counts when the email is delivered. Not asked before the domain is known to be one. */
function isShortEnoughInAscii(address: string): boolean {
  const at = address.lastIndexOf('@');
  return at + 1 + (asciiDomainOf(address.slice(at + 1)) ?? '').length <= fieldLimits.emailAddress;
}

/**
 * An email address, kept as typed: one @, no spaces, control or separator characters, up to 64 characters
 * before the @ and 254 in total, also with its domain in ASCII. Non-ASCII letters are never folded. A domain
 * that IDNA mapping would change is rejected, because the email would be delivered to another one than the
 * address names; so are source routes and encoded words before the @, which some mail servers still follow.
 * @see RFC 5321 appendix F.2 and RFC 2047
 */
export const emailAddress = z
  .string()
  .min(3)
  .max(fieldLimits.emailAddress)
  .regex(
    /^[^\s@"(),:;<>[\]\\\p{C}\p{Z}]{1,64}@(?![.-])(?:[A-Za-z0-9.-]|[^\0-\x7f]){1,253}(?<![.-])$/u,
    'must be an email address, like ada@example.com',
  )
  .refine(
    (address) => !/^\.|\.\.|\.@|@.*-\.|@.*\.-|@(?:.*\.)?[^.]{64}/.test(address),
    'must be an email address, like ada@example.com',
  )
  .refine(
    (address) => !/^=\?|[%!].*@/.test(address),
    'must not contain % or ! or start with =?, which mail servers may deliver to another address',
  )
  .refine(
    (address) => isMappedToItself(address.slice(address.lastIndexOf('@') + 1)),
    'must have its domain as it is looked up: international letters in lower case and in their usual form',
  )
  .refine(
    isShortEnoughInAscii,
    `must have at most ${fieldLimits.emailAddress} characters with its domain in ASCII`,
  )
  .meta({
    description: 'An email address. The case of ASCII letters is ignored.',
    examples: [examples.email],
    // Looser than the validation, and limited to syntax that all regular expression dialects share.
    pattern: '^[^@\\s]{1,64}@[^@\\s]{1,252}$',
  });

/** A response that a page posts to the client of an authorization request. */
export const formPost = model('FormPost', 'A form that the page posts to the client (Form Post mode).', {
  action: url('The redirect URI.', 'http://127.0.0.1:41234/callback'),
  fields: described(z.record(z.string(), z.string()), 'The fields of the form.', {
    code: examples.authorizationCode,
    state: 'af0ifjsldkj',
    iss: 'https://login.example',
  }),
});
