// What the credential helpers have in common: whom they answer, and with which token.

import { fieldLimits } from '@latchkey/contract/field-limits';
import type { Connection } from './connection.ts';
import type { Context } from './context.ts';
import { isNamed, requireHosts } from './credential-hosts.ts';
import { UsageError } from './exit.ts';
import { readUntil, requestedAccess } from './text-input.ts';
import { type DatedToken, issueDatedToken, ownToken } from './tokens.ts';

export interface HelperOptions {
  readonly host?: readonly string[];
  readonly scope?: readonly string[];
  readonly resource?: string;
}

/** The user name beside a token, which services ignore. It must not tell them who the user is. */
export const username = 'oauth2';

export type Helper = ReturnType<typeof checkedHelper>;

/** The hosts, and what tokens for them allow: undefined without a scope. @throws {UsageError} */
export function checkedHelper({ output }: Context, { host = [], scope, resource }: HelperOptions) {
  if (output.json) {
    throw new UsageError('A credential helper answers in the format of its program.', 'Leave out --json.');
  }
  requireHosts(host);
  if (!scope && host.length > 0) throw scopeMissing('--host');
  if (!scope && resource !== undefined) throw scopeMissing('--resource');
  return { hosts: host, access: scope && requestedAccess(scope, resource) };
}

const scopeMissing = (option: string) =>
  new UsageError(
    `${option} needs a --scope: other services only get a token that is limited to one.`,
    'Add --scope with what the service needs.',
  );

/**
 * The request of a program, from standard input.
 * @param end where it ends, if not at the end of the input
 * @throws {UsageError} in a terminal, which would have to type it
 */
export function readRequest({ stdin, signal }: Context, end?: RegExp): Promise<string> {
  const input = stdin();
  if (input.isTTY) {
    throw new UsageError('A credential helper is run by its program, which sends it a request.');
  }
  return readUntil(input, end, fieldLimits.bodyBytes, signal);
}

/** A token for the first of these origins that may have one. Undefined if none may. */
export async function tokenFor(
  { signal }: Context,
  connection: Connection,
  { hosts, access }: Helper,
  origins: readonly URL[],
): Promise<DatedToken | undefined> {
  // A host that `--host` names gets a limited token, even if it is the login's own server.
  if (access && origins.some((origin) => isNamed(origin, hosts))) {
    return issueDatedToken(connection, access, signal);
  }
  if (origins.some(({ origin }) => origin === connection.server)) return ownToken(connection, signal);
  return undefined;
}
