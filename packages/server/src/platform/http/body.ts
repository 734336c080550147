import { fieldLimits } from '@latchkey/contract/field-limits';
import { z } from 'zod';
import { AuthError } from '../errors.ts';
import { fieldError } from './field-errors.ts';
import { duplicateMember } from './json.ts';

export type BodyDialect = 'json' | 'form';

const mediaTypes: Readonly<Record<BodyDialect, string>> = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
};

const tooLarge = () =>
  new AuthError('payload_too_large', `The body must be at most ${fieldLimits.bodyBytes} bytes.`, {
    headers: { Connection: 'close' },
  });

const malformed = (what: string) => new AuthError('invalid_request', what);

/** A body as it came: its bytes, or why they were not taken. */
export type RawBody = Uint8Array | AuthError;

/**
 * Takes in a body up to the limit, which holds also where no length was announced. A refusal is returned and
 * not thrown: credentials are checked after the body has come, so that nobody holds a checked credential open
 * by sending slowly, but before it is looked at.
 */
export async function takeBody(request: Request): Promise<RawBody> {
  const announced = request.headers.get('Content-Length');
  if (announced !== null && Number(announced) > fieldLimits.bodyBytes) return tooLarge();
  if (!request.body) return new Uint8Array();
  try {
    if (announced !== null) return new Uint8Array(await request.arrayBuffer());
    const chunks: Uint8Array[] = [];
    let length = 0;
    for await (const chunk of request.body) {
      length += chunk.length;
      if (length > fieldLimits.bodyBytes) return tooLarge();
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } catch {
    return malformed('The body was cut short.');
  }
}

/** The body's dialect by its media type; parameters and letter case do not matter. */
export function dialectOf(request: Request): BodyDialect | undefined {
  const type = request.headers.get('Content-Type')?.split(';', 1)[0]?.trim().toLowerCase();
  if (
    type === 'application/json' ||
    (type === 'application/merge-patch+json' && request.method === 'PATCH')
  ) {
    return 'json';
  }
  return type === 'application/x-www-form-urlencoded' ? 'form' : undefined;
}

/**
 * The members of the body, or undefined where there is none.
 * @throws {AuthError} `payload_too_large`, `unsupported_media_type`, `invalid_request`
 */
export function readBody(request: Request, taken: RawBody, dialects: readonly BodyDialect[]): unknown {
  if (taken instanceof AuthError) throw taken;
  if (taken.length === 0) return undefined;
  const dialect = dialectOf(request);
  if (!dialect || !dialects.includes(dialect)) {
    const types = dialects.map((one) => mediaTypes[one]).join(' or ');
    throw new AuthError('unsupported_media_type', `The Content-Type must be ${types}.`);
  }
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(taken);
  } catch {
    throw malformed('The body is not valid UTF-8.');
  }
  return dialect === 'json' ? parseJson(text) : parseFormBody(text);
}

function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw malformed('The body is not valid JSON.');
  }
  const twice = duplicateMember(text);
  if (twice !== undefined) throw malformed(`${printable(twice)}: appears twice`);
  return value;
}

/** A form whose escapes are broken is refused: a parser would put other characters in their place. */
function parseFormBody(text: string): Record<string, string> {
  try {
    decodeURIComponent(text);
  } catch {
    throw malformed('The body is not valid form encoding of UTF-8.');
  }
  return withoutEmpty(parseForm(text));
}

function parseForm(text: string): Record<string, string> {
  const members: Record<string, string> = Object.create(null);
  for (const [name, value] of new URLSearchParams(text)) {
    if (name in members) throw malformed(`${printable(name)}: appears twice`);
    members[name] = value;
  }
  return members;
}

/** In a form, a parameter without a value counts as left out. @see RFC 6749 section 3.2 */
const withoutEmpty = (members: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== ''));

/** A name out of the body, fit to be shown: its harmless characters, at most 64 of them. */
const printable = (name: string): string => name.replace(/[^\w.-]/g, '?').slice(0, 64);

/** Parameters of the query; one that appears twice is refused. */
export function readQuery(url: string): Record<string, string> {
  const start = url.indexOf('?');
  // URLSearchParams would drop a second question mark, which belongs to the first name.
  return start < 0
    ? {}
    : parseForm(
        url
          .slice(start + 1)
          .replace(/#.*$/, '')
          .replace(/^\?/, '%3F'),
      );
}

/**
 * Checks what came in against its schema.
 * @throws {AuthError} `invalid_request` naming the first field that is wrong, never its value
 */
export function check<S extends z.ZodType>(schema: S, value: unknown, what: string): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = alternativeMeant(schema, value).safeParse(value, { error: fieldError }).error?.issues[0];
  if (!issue) throw new Error('a failed check without an issue');
  const field = issue.path.map((part) => printable(String(part))).join('.') || what;
  throw new AuthError('invalid_request', `${field}: ${issue.message}`);
}

/** Of several shapes that a body may have, the one whose members were sent: its error says best what is wrong. */
function alternativeMeant(schema: z.ZodType, value: unknown): z.ZodType {
  if (!(schema instanceof z.ZodUnion)) return schema;
  const sent = typeof value === 'object' && value !== null ? Object.keys(value) : [];
  const overlap = (option: unknown) =>
    option instanceof z.ZodObject ? sent.filter((member) => member in option.shape).length : 0;
  const options = schema.options as z.ZodType[];
  return options.reduce((best, option) => (overlap(option) > overlap(best) ? option : best));
}
