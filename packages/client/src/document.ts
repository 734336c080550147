import type { CredentialDocument, StoredLogin } from './credentials.ts';
import { LatchkeyError } from './errors.ts';

/** What some hundred logins take; more is no document of ours. */
export const documentLimitBytes = 1024 * 1024;

const versionWritten = 1;

/**
 * The stored text as a document, with all members it has.
 * @param where for people, like "the file /home/ada/credentials.json"
 * @throws {LatchkeyError} `store_corrupt`; the message quotes nothing of the text
 */
export function parseDocument(text: string, where: string): CredentialDocument {
  const value = parsed(text);
  if (value === undefined) throw corrupt(where, 'it is no JSON');
  if (!isObject(value)) throw corrupt(where, 'it is no JSON object');
  const { version, current_server, logins } = value;
  if (typeof version === 'number' && version > versionWritten) {
    throw new LatchkeyError(
      'store_corrupt',
      `The credentials in ${where} were written by a newer Latchkey (version ${version}). Nothing was changed: use the newer one.`,
    );
  }
  if (version !== versionWritten) throw corrupt(where, 'it names no version');
  if (current_server !== null && typeof current_server !== 'string') {
    throw corrupt(where, 'its "current_server" is neither text nor null');
  }
  if (!isObject(logins)) throw corrupt(where, 'it has no "logins"');
  for (const [server, login] of Object.entries(logins)) {
    if (!isLogin(login)) throw corrupt(where, `its login for ${JSON.stringify(server)} is not whole`);
  }
  return value as unknown as CredentialDocument;
}

/** @throws {LatchkeyError} `store_failed` when it could not be read back: that would cost all other logins, too */
export function formatDocument(document: CredentialDocument): string {
  const text = `${JSON.stringify(document, null, 2)}\n`;
  if (new TextEncoder().encode(text).length > documentLimitBytes) {
    throw new LatchkeyError('store_failed', `The credentials are longer than ${documentLimitBytes} bytes.`);
  }
  try {
    parseDocument(text, 'what is to be stored');
  } catch (cause) {
    const message = 'The credentials that are to be stored are not whole.';
    throw new LatchkeyError('store_failed', message, { cause });
  }
  return text;
}

export const corrupt = (where: string, why: string): LatchkeyError =>
  new LatchkeyError(
    'store_corrupt',
    `The credentials in ${where} cannot be understood: ${why}. Nothing was changed: mend it, or move it away and log in again.`,
  );

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const textMembers = ['server', 'logged_in_at', 'access_token', 'refresh_token', 'idempotency_key'] as const;
const numberMembers = ['access_token_expires_at', 'access_token_lifetime_seconds'] as const;

const isLogin = (value: unknown): value is StoredLogin =>
  isObject(value) &&
  textMembers.every((name) => typeof value[name] === 'string') &&
  numberMembers.every((name) => Number.isFinite(value[name])) &&
  (value['refresh_started_at'] === undefined || Number.isFinite(value['refresh_started_at'])) &&
  isObject(value['user']) &&
  typeof value['user']['id'] === 'string' &&
  typeof value['user']['email'] === 'string';

/** undefined where it is no JSON; the parser's own message would quote secrets. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
