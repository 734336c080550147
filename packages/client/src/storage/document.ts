import type { CredentialDocument, StoredLogin, StoredSession } from '../credentials.ts';
import { LatchkeyError } from '../errors.ts';
import { parseJson } from '../transport.ts';

/** Room for hundreds of logins; a larger file was not written by this package. */
export const documentLimitBytes = 1024 * 1024;

const versionWritten = 1;

/**
 * Parses the stored text and keeps unknown members.
 * @param where for people, like "the file /home/ada/credentials.json"
 * @throws {LatchkeyError} `store_corrupt`; the message quotes none of the text
 */
export function parseDocument(text: string, where: string): CredentialDocument {
  const value = parseJson(text);
  if (value === undefined) throw corrupt(where, 'not valid JSON');
  if (!isObject(value)) throw corrupt(where, 'not a JSON object');
  const { version, current_server } = value;
  if (typeof version === 'number' && version > versionWritten) {
    throw new LatchkeyError(
      'store_corrupt',
      `The credentials in ${where} were written by a newer version of Latchkey (format ${version}). Update Latchkey to use them. Nothing was changed.`,
    );
  }
  if (version !== versionWritten) throw corrupt(where, 'no version');
  if (current_server !== null && typeof current_server !== 'string') {
    throw corrupt(where, '"current_server" is neither text nor null');
  }
  if (!isObject(value['servers'])) throw corrupt(where, 'no "servers"');
  for (const [server, held] of Object.entries(value['servers'])) {
    const isComplete =
      isObject(held) &&
      (held['current'] === null || typeof held['current'] === 'string') &&
      isObject(held['logins']) &&
      Object.values(held['logins']).every(isLogin);
    if (!isComplete) throw corrupt(where, `the login for ${JSON.stringify(server)} is incomplete`);
  }
  return value as unknown as CredentialDocument;
}

/** @throws {LatchkeyError} `store_failed` if it could not be read back: that would lose every other login, too */
export function formatDocument(document: CredentialDocument): string {
  const text = `${JSON.stringify(document, null, 2)}\n`;
  if (new TextEncoder().encode(text).length > documentLimitBytes) {
    throw new LatchkeyError('store_failed', `The credentials exceed ${documentLimitBytes} bytes.`);
  }
  try {
    parseDocument(text, 'the new document');
  } catch (cause) {
    const message = 'The credentials to be stored are incomplete.';
    throw new LatchkeyError('store_failed', message, { cause });
  }
  return text;
}

/** A `store_corrupt` for people. */
export const corrupt = (where: string, why: string): LatchkeyError =>
  new LatchkeyError(
    'store_corrupt',
    `The credentials in ${where} are damaged: ${why}. Repair them, or move them away and sign in again. Nothing was changed.`,
  );

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const sharedMembers = ['server', 'logged_in_at', 'access_token'] as const;
const sessionMembers = ['refresh_token', 'idempotency_key'] as const;
const numberMembers = ['access_token_expires_at', 'access_token_lifetime_seconds'] as const;

const optionalNumberMembers = ['clock_offset_milliseconds', 'refresh_started_at'] as const;

const isLogin = (value: unknown): value is StoredLogin =>
  isObject(value) && value['kind'] === 'key' ? hasSharedMembers(value) : isSession(value);

const isSession = (value: unknown): value is StoredSession =>
  isObject(value) &&
  value['kind'] === undefined &&
  hasSharedMembers(value) &&
  sessionMembers.every((name) => typeof value[name] === 'string') &&
  numberMembers.every((name) => Number.isFinite(value[name])) &&
  optionalNumberMembers.every((name) => value[name] === undefined || Number.isFinite(value[name]));

const hasSharedMembers = (value: Record<string, unknown>): boolean =>
  sharedMembers.every((name) => typeof value[name] === 'string') &&
  isObject(value['user']) &&
  typeof value['user']['id'] === 'string' &&
  typeof value['user']['email'] === 'string';
