import { createReadStream } from 'node:fs';
import { fieldLimits } from '@latchkey/contract/field-limits';
import { emailAddress, text, visibleText } from '@latchkey/contract/fields';
import { organizationRole } from '@latchkey/contract/organizations';
import { untrustedText } from '@latchkey/contract/untrusted-text';
import type { Command } from 'commander';
import { z } from 'zod';
import { importAccount } from '../identity/account/account.ts';
import { addMemberships } from '../identity/organizations/organizations.ts';
import type { Config } from '../platform/config/config.ts';
import { ConfigError } from '../platform/config/config-error.ts';
import type { Context } from '../platform/context.ts';
import type { Executor } from '../platform/database/executor.ts';
import { AuthError, invalidRequest } from '../platform/errors.ts';
import { check } from '../platform/http/body.ts';
import { emailKeyOf } from '../platform/values/email-key.ts';
import { duplicateMember } from '../platform/values/json.ts';
import { linesOf } from '../platform/values/lines.ts';
import { importPasskey } from '../sign-in/passkeys/passkeys.ts';
import type { CommandContext, Run } from './commands.ts';

const maxLineBytes = 64 * 1024;
const maxOrganizations = 100;
const maxCounter = 2 ** 32 - 1;

const maxCredentialIdBytes = 1023;
const maxUserHandleBytes = 64;

/** @see WebAuthn Level 3 section 5.4.3 */
const base64url = (maxBytes: number) =>
  z.string().refine((value) => {
    const bytes = Buffer.from(value, 'base64url');
    return bytes.length > 0 && bytes.length <= maxBytes && bytes.toString('base64url') === value;
  }, `must be 1-${maxBytes} bytes in base64url without padding`);

/** An object that says which members it does not know. */
const known = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys' ? `has unknown members: ${issue.keys.join(', ')}` : undefined,
  });

const importedPasskey = known({
  credential_id: base64url(maxCredentialIdBytes),
  public_key: base64url(maxLineBytes),
  backup_eligible: z.boolean(),
  sign_count: z.int().min(0).max(maxCounter).default(0),
  transports: z.array(text(fieldLimits.transport)).max(fieldLimits.transports).default([]),
  name: visibleText(fieldLimits.passkeyName).optional(),
  rp_id: z.string().optional(),
});

const membership = known({ slug: text(fieldLimits.organizationSlug * 2), role: organizationRole });

const areDistinct = (texts: readonly string[]): boolean => new Set(texts).size === texts.length;

const importedUser = known({
  email: emailAddress,
  name: visibleText(fieldLimits.profileName).optional(),
  user_handle: base64url(maxUserHandleBytes).optional(),
  organizations: z
    .array(membership)
    .max(maxOrganizations)
    .refine((list) => areDistinct(list.map(({ slug }) => slug)), 'must name each organization once')
    .default([]),
  passkeys: z
    .array(importedPasskey)
    .max(fieldLimits.passkeys)
    .refine((list) => areDistinct(list.map((one) => one.credential_id)), 'must name each passkey once')
    .default([]),
}).refine(({ user_handle, passkeys }) => user_handle !== undefined || passkeys.length === 0, {
  path: ['user_handle'],
  message: 'is required with passkeys: they sign in only to the user they were made for',
});
export type ImportedUser = z.output<typeof importedUser>;

/** What became of a line, and what the account keeps although the line says something else: its name, or the slug of a role. */
interface Imported {
  readonly outcome: 'created' | 'completed' | 'unchanged';
  readonly kept: readonly string[];
}

/** The lines of a dry run so far. Those that share an address, a user handle or a passkey are a group, and decide about each other. */
class EarlierLines {
  readonly #groups = new Map<string, readonly ImportedUser[]>();

  /** What is to be imported, and rolled back, before this line. */
  before(user: ImportedUser): ImportedUser[] {
    const groups = keysOf(user).flatMap((key) => this.#groups.get(key) ?? []);
    return [...new Set(groups)];
  }

  add(user: ImportedUser): void {
    const group = [...this.before(user), user];
    for (const key of group.flatMap(keysOf)) this.#groups.set(key, group);
  }
}

const keysOf = ({ email, user_handle, passkeys }: ImportedUser): string[] => [
  `email ${emailKeyOf(email)}`,
  ...(user_handle === undefined ? [] : [`handle ${user_handle}`]),
  ...passkeys.map(({ credential_id }) => `passkey ${credential_id}`),
];

export function importCommand(users: Command, run: Run): void {
  users
    .command('import <file>')
    .description(
      'create accounts from JSON lines, with their organizations and passkeys; run again, it adds only what is missing',
    )
    .option('--dry-run', 'change nothing, and report what would happen')
    .action(run(importFile));
}

async function importFile(ctx: CommandContext, file: string, { dryRun = false }: { dryRun?: boolean }) {
  const { write } = ctx.output;
  const counts = { created: 0, completed: 0, unchanged: 0, refused: 0 };
  const earlier = dryRun ? new EarlierLines() : undefined;
  let number = 0;
  for await (const line of linesOf(bytesOf(file), maxLineBytes)) {
    number++;
    if (line?.toString().trim() === '') continue;
    let name = `line ${number}`;
    try {
      const value = parse(line);
      name += addressIn(value);
      const { outcome, kept } = await importLine(ctx, value, earlier);
      counts[outcome]++;
      if (kept.length > 0) await write(untrustedText(`${name}: the account keeps ${kept.join(' and ')}`));
    } catch (error) {
      if (!(error instanceof AuthError)) throw error;
      if (error.status >= 500)
        throw new ConfigError(`Stopped at line ${number}: ${error.message} Run it again.`);
      counts.refused++;
      await write(untrustedText(`${name}: ${error.message.replace(`${theLine}: `, '')}`));
    }
  }
  const { created, completed, unchanged, refused } = counts;
  await write(
    `${dryRun ? 'Nothing was changed. It would be: ' : ''}${created} created, ${completed} completed, ${unchanged} unchanged, ${refused} refused.`,
  );
  if (refused > 0) throw new ConfigError(`${refused} ${refused === 1 ? 'line was' : 'lines were'} refused.`);
}

/** @throws {ConfigError} if the file cannot be read */
async function* bytesOf(file: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(file);
  } catch (error) {
    throw new ConfigError(`${file} cannot be read: ${(error as Error).message}.`);
  }
}

/** The address of a line, in parentheses, so that a person finds it; empty if it has none. */
function addressIn(value: unknown): string {
  const result = z.looseObject({ email: emailAddress }).safeParse(value);
  return result.success ? ` (${result.data.email})` : '';
}

/** Imports a line, or tries it in a dry run. @throws {AuthError} a refused line has no effect */
async function importLine(ctx: Context, value: unknown, earlier: EarlierLines | undefined) {
  const user = check(importedUser, value, theLine);
  for (const passkey of user.passkeys) requireRpId(ctx.config, passkey.rp_id);
  if (!earlier) return ctx.db.transaction((tx) => importUser(ctx, tx, user));
  const rolledBack = new Error('This was a dry run.');
  let imported: Imported | undefined;
  try {
    await ctx.db.transaction(async (tx) => {
      for (const before of earlier.before(user)) await importUser(ctx, tx, before);
      imported = await importUser(ctx, tx, user);
      throw rolledBack;
    });
  } catch (error) {
    if (error !== rolledBack) throw error;
  }
  earlier.add(user);
  return imported!;
}

/** What is wrong with a line as a whole is printed after its number. */
const theLine = 'the line';

const utf8 = new TextDecoder('utf-8', { fatal: true });

function parse(line: Buffer | undefined): unknown {
  if (!line) throw invalidRequest(`has more than ${maxLineBytes} bytes`);
  let text: string;
  let value: unknown;
  try {
    text = utf8.decode(line);
    value = JSON.parse(text);
  } catch {
    throw invalidRequest('not JSON in UTF-8');
  }
  const duplicate = duplicateMember(text, value);
  if (duplicate !== undefined) throw invalidRequest(`${duplicate}: appears twice`);
  return value;
}

/** Browsers use a passkey only for the RP ID that it was made for. */
function requireRpId({ rpId }: Config, given = rpId): void {
  if (given !== rpId) {
    throw invalidRequest(`passkeys: made for the RP ID ${given}, but this is ${rpId}.`);
  }
}

/** Adds what a line says and the database does not have, in a transaction. @throws {AuthError} */
export async function importUser(ctx: Context, tx: Executor, user: ImportedUser): Promise<Imported> {
  const { email, name, user_handle: userHandle } = user;
  const { id, isNew, hasOtherName } = await importAccount(ctx, tx, { email, name, userHandle });
  const memberships = await addMemberships(ctx, tx, id, user.organizations, { by: 'operator' });
  let added = memberships.added;
  for (const passkey of user.passkeys) {
    if (await importPasskey(ctx, tx, id, passkey)) added++;
  }
  return {
    outcome: isNew ? 'created' : added > 0 ? 'completed' : 'unchanged',
    kept: [
      ...(hasOtherName ? ['its name'] : []),
      ...memberships.otherRoles.map((slug) => `its role in ${slug}`),
    ],
  };
}
