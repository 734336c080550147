import { type Check, isNumber, isText, objectWith } from '../answers.ts';
import type { CredentialDocument } from '../credentials.ts';
import { LatchkeyError } from '../errors.ts';
import { parseJson } from '../transport.ts';

/** Room for hundreds of logins; a larger file was not written by this package. */
export const documentLimitBytes = 1024 * 1024;

const versionWritten = 1;

const isObject = objectWith({});

/**
 * Parses the stored text and keeps unknown members.
 * @param where for people, like "the file /home/ada/credentials.json"
 * @throws {LatchkeyError} `store_corrupt`; the message quotes none of the text
 */
export function parseDocument(text: string, where: string): CredentialDocument {
  const value = parseJson(text);
  if (value === undefined) throw corrupt(where, 'not valid JSON');
  if (!isObject(value)) throw corrupt(where, 'not a JSON object');
  const { version, current_server, servers } = value as Record<string, unknown>;
  if (typeof version === 'number' && version > versionWritten) {
    throw new LatchkeyError(
      'store_corrupt',
      `The credentials in ${where} were written by a newer version of Latchkey (format ${version}). Update Latchkey to use them. Nothing was changed.`,
    );
  }
  if (version !== versionWritten) throw corrupt(where, 'no version');
  if (!isTextOrNull(current_server)) throw corrupt(where, '"current_server" is neither text nor null');
  if (!isObject(servers)) throw corrupt(where, 'no "servers"');
  for (const [server, held] of Object.entries(Object(servers)))
    if (!isServerLogins(held)) throw corrupt(where, `the login for ${JSON.stringify(server)} is incomplete`);
  return value as CredentialDocument;
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

const shared = {
  server: isText,
  logged_in_at: isText,
  access_token: isText,
  user: objectWith({ id: isText, email: isText }),
};
const isKey = objectWith({ ...shared, kind: (kind) => kind === 'key' });
const isSession = objectWith({
  ...shared,
  kind: (kind) => kind === undefined,
  refresh_token: isText,
  idempotency_key: isText,
  access_token_expires_at: isNumber,
  access_token_lifetime_seconds: isNumber,
  clock_offset_milliseconds: (offset) => offset === undefined || isNumber(offset),
  refresh_started_at: (time) => time === undefined || isNumber(time),
});
const isTextOrNull: Check = (value) => value === null || isText(value);
const isServerLogins = objectWith({
  current: isTextOrNull,
  logins: (logins) =>
    isObject(logins) && Object.values(Object(logins)).every((one) => isKey(one) || isSession(one)),
});
