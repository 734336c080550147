import { fieldLimits } from '@latchkey/contract/field-limits';
import { z } from 'zod';
import { AuthError, invalidRequest } from '../errors.ts';
import { duplicateMember, parseExactly } from '../values/json.ts';
import { printable, withoutEmpty } from '../values/parameters.ts';

export type BodyDialect = 'json' | 'form';

const mediaTypes: Readonly<Record<BodyDialect, string>> = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
};

/** Refuses what is not UTF-8. */
const strictDecoder = new TextDecoder('utf-8', { fatal: true });

const tooLarge = () =>
  new AuthError('payload_too_large', `The body must be at most ${fieldLimits.bodyBytes} bytes.`, {
    headers: { Connection: 'close' },
  });

/** Buffers a body, up to the size limit. @throws {AuthError} `payload_too_large`, `invalid_request` */
export async function receiveBody(request: Request): Promise<Uint8Array> {
  const announced = request.headers.get('Content-Length');
  if (announced !== null && Number(announced) > fieldLimits.bodyBytes) throw tooLarge();
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    if (announced !== null) return new Uint8Array(await request.arrayBuffer());
    for await (const chunk of request.body ?? []) {
      length += chunk.length;
      if (length > fieldLimits.bodyBytes) break;
      chunks.push(chunk);
    }
  } catch {
    throw invalidRequest('The body is incomplete.');
  }
  if (length > fieldLimits.bodyBytes) throw tooLarge();
  return Buffer.concat(chunks);
}

/**
 * Reads a form as a query string, for a page that also accepts its parameters by POST.
 * @throws {AuthError} `payload_too_large`, `unsupported_media_type`
 */
export async function receiveFormAsQuery(request: Request): Promise<string> {
  const received = await receiveBody(request);
  if (dialectOf(request) !== 'form')
    throw new AuthError('unsupported_media_type', `The Content-Type must be ${mediaTypes.form}.`);
  return new URLSearchParams(new TextDecoder().decode(received)).toString();
}

/** The dialect that the media type names, ignoring its parameters and case. */
export function dialectOf(request: Request): BodyDialect | undefined {
  const type = request.headers.get('Content-Type')?.split(';', 1)[0]?.trim().toLowerCase();
  if (type === mediaTypes.form) return 'form';
  const isPatch = type === 'application/merge-patch+json' && request.method === 'PATCH';
  return type === mediaTypes.json || isPatch ? 'json' : undefined;
}

/** The members of a body, if there is one. @throws {AuthError} `unsupported_media_type`, `invalid_request` */
export function parseBody(request: Request, received: Uint8Array, dialects: readonly BodyDialect[]): unknown {
  if (received.length === 0) return undefined;
  const dialect = dialectOf(request);
  if (!dialect || !dialects.includes(dialect)) {
    const types = dialects.map((one) => mediaTypes[one]).join(' or ');
    throw new AuthError('unsupported_media_type', `The Content-Type must be ${types}.`);
  }
  let text: string;
  try {
    text = strictDecoder.decode(received);
  } catch {
    throw invalidRequest('The body is not valid UTF-8.');
  }
  return dialect === 'json' ? parseJson(text) : parseFormBody(text);
}

function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = parseExactly(text);
  } catch {
    throw invalidRequest('The body is not valid JSON.');
  }
  const duplicate = duplicateMember(text, value);
  if (duplicate !== undefined) throw invalidRequest(`${printable(duplicate)}: appears twice`);
  return value;
}

/** Invalid escapes are an error: `URLSearchParams` would replace them with other characters. */
function parseFormBody(text: string): Record<string, string> {
  try {
    decodeURIComponent(text);
  } catch {
    throw invalidRequest('The body is not valid form-encoded UTF-8.');
  }
  return withoutEmpty(parseForm(new URLSearchParams(text)));
}

function parseForm(parameters: URLSearchParams): Record<string, string> {
  const members: Record<string, string> = Object.create(null);
  for (const [name, value] of parameters) {
    if (name in members) throw invalidRequest(`${printable(name)}: appears twice`);
    members[name] = value;
  }
  return members;
}

/** The query of a request as a URL of its own, because the `Host` and thus the whole URL may be malformed. */
export const queryOf = (url: string): URL => new URL(url.replace(/^[^?]*/, ''), 'http://localhost');

/** The query parameters of a URL. @throws {AuthError} `invalid_request` for a duplicate */
export const readQuery = (url: string): Record<string, string> => parseForm(queryOf(url).searchParams);

/**
 * Validates input against its schema.
 * @throws {AuthError} `invalid_request`, which names the first invalid field but never its value
 */
export function check<S extends z.ZodType>(schema: S, value: unknown, what: string): z.output<S> {
  const result = parseSafely(schema, value, what);
  if (result.success) return result.data;
  const issue = closestAlternative(schema, value).safeParse(value, { error: fieldError }).error?.issues[0];
  if (!issue) throw new Error('validation failed without an issue');
  const field = issue.path.map((part) => printable(String(part))).join('.') || what;
  throw invalidRequest(`${field}: ${issue.message}`);
}

/**
 * Zod compares the length of any value with a member `length`, even where it expects a string. The comparison
 * throws if that member is an object without a primitive value.
 */
function parseSafely<S extends z.ZodType>(schema: S, value: unknown, what: string) {
  try {
    return schema.safeParse(value);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw invalidRequest(`${what}: contains a value of the wrong type`);
  }
}

/** The alternative of a union that shares most members with the input: its error is the most helpful. */
function closestAlternative(schema: z.ZodType, value: unknown): z.ZodType {
  if (!(schema instanceof z.ZodUnion)) return schema;
  const sent = typeof value === 'object' && value !== null ? Object.keys(value) : [];
  const overlap = (option: unknown) =>
    option instanceof z.ZodObject ? sent.filter((member) => member in option.shape).length : 0;
  const options = schema.options as z.ZodType[];
  return options.reduce((best, option) => (overlap(option) > overlap(best) ? option : best));
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  null: 'null',
};

const sizeUnits: Readonly<Record<string, string>> = { string: ' characters', array: ' entries' };

const sized = (word: string, size: number | bigint, origin: string): string =>
  `must ${origin === 'array' ? 'have' : 'be'} at ${word} ${size}${sizeUnits[origin] ?? ''}`;

/** What is wrong with a field, to follow its name. Messages of the schema itself take precedence. */
function fieldError(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is required';
      return `must be ${typeNames[issue.expected] ?? 'of another type'}`;
    case 'invalid_value':
      if (issue.input === undefined) return 'is required';
      return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.map((value) => JSON.stringify(value)).join(', ')}`;
    case 'too_small':
      if (Number(issue.minimum) === 1 && issue.origin in sizeUnits) return 'must not be empty';
      return sized('least', issue.minimum, issue.origin);
    case 'too_big':
      return sized('most', issue.maximum, issue.origin);
    default:
      return 'is not valid';
  }
}
