import { limits } from '@latchkey/contract/limits';
import type { z } from 'zod';
import { AuthError } from '../errors.ts';
import { duplicateMember } from './json.ts';

export type BodyDialect = 'json' | 'form';

const tooLarge = () =>
  new AuthError('payload_too_large', `The body must be at most ${limits.bodyBytes} bytes.`, {
    headers: { Connection: 'close' },
  });

/**
 * Reads a body up to the limit, which holds also where no length was announced.
 * @throws {AuthError} `payload_too_large`
 */
async function readBytes(request: Request): Promise<Uint8Array> {
  const announced = request.headers.get('Content-Length');
  if (announced !== null && Number(announced) > limits.bodyBytes) throw tooLarge();
  if (!request.body) return new Uint8Array();
  if (announced !== null) return new Uint8Array(await request.arrayBuffer());
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request.body) {
    length += chunk.length;
    if (length > limits.bodyBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
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

const malformed = (what: string) => new AuthError('invalid_request', what);

/**
 * The members of the body, or undefined where there is none.
 * @throws {AuthError} `payload_too_large`, `unsupported_media_type`, `invalid_request`
 */
export async function readBody(request: Request, dialects: readonly BodyDialect[]): Promise<unknown> {
  const bytes = await readBytes(request);
  if (bytes.length === 0) return undefined;
  const dialect = dialectOf(request);
  if (!dialect || !dialects.includes(dialect)) {
    throw new AuthError('unsupported_media_type', 'The Content-Type must be application/json.');
  }
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw malformed('The body is not valid UTF-8.');
  }
  return dialect === 'json' ? parseJson(text) : parseForm(text);
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

function parseForm(text: string): Record<string, string> {
  const members: Record<string, string> = Object.create(null);
  for (const [name, value] of new URLSearchParams(text)) {
    if (name in members) throw malformed(`${printable(name)}: appears twice`);
    members[name] = value;
  }
  return members;
}

/** A name out of the body, fit to be shown: its harmless characters, at most 64 of them. */
const printable = (name: string): string => name.replace(/[^\w.-]/g, '?').slice(0, 64);

/** Parameters of the query; one that appears twice is refused. */
export function readQuery(url: string): Record<string, string> {
  const start = url.indexOf('?');
  return start < 0 ? {} : parseForm(url.slice(start + 1).replace(/#.*$/, ''));
}

/**
 * Checks what came in against its schema.
 * @throws {AuthError} `invalid_request` naming the first field that is wrong, never its value
 */
export function check<S extends z.ZodType>(schema: S, value: unknown, what: string): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = clearestIssue(result.error.issues);
  const field = issue.path.map((part) => printable(String(part))).join('.') || what;
  throw new AuthError('invalid_request', `${field}: ${issue.message}`);
}

/** Of a union, the alternative that came closest says best what is wrong. */
function clearestIssue(issues: readonly z.core.$ZodIssue[]): z.core.$ZodIssue {
  const [issue] = issues;
  if (!issue) throw new Error('a failed check without an issue');
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return issue;
  const closest = issue.errors.reduce((best, errors) => (errors.length < best.length ? errors : best));
  return clearestIssue(closest);
}
