import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
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
import { AuthError } from '../platform/errors.ts';
import { check } from '../platform/http/body.ts';
import { linesOf } from '../platform/values/lines.ts';
import { importPasskey } from '../sign-in/passkeys/passkeys.ts';
import { write } from './output.ts';

type Run = (work: (ctx: Context) => Promise<string>) => Promise<void>;

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

const isWithoutDuplicates = (list: readonly { readonly slug: string }[]): boolean =>
  new Set(list.map(({ slug }) => slug)).size === list.length;

const importedUser = known({
  email: emailAddress,
  name: visibleText(fieldLimits.profileName).optional(),
  user_handle: base64url(maxUserHandleBytes).optional(),
  organizations: z
    .array(membership)
    .max(maxOrganizations)
    .refine(isWithoutDuplicates, 'must name each organization once')
    .default([]),
  passkeys: z.array(importedPasskey).max(fieldLimits.passkeys).default([]),
}).refine(({ user_handle, passkeys }) => user_handle !== undefined || passkeys.length === 0, {
  path: ['user_handle'],
  message: 'is required with passkeys: they sign in only to the user they were made for',
});
export type ImportedUser = z.output<typeof importedUser>;

/** What became of a line. */
type Outcome = 'created' | 'completed' | 'unchanged';

/** Rolls back what a line did. */
class DryRun extends Error {
  readonly outcome: Outcome;
  constructor(outcome: Outcome) {
    super();
    this.outcome = outcome;
  }
}

/** `users import`. */
export function importCommand(users: Command, run: Run): void {
  users
    .command('import <file>')
    .description(
      'create accounts from JSON lines, with their organizations and passkeys; run again, it adds only what is missing',
    )
    .option('--dry-run', 'change nothing, and report what would happen')
    .action((file: string, { dryRun = false }: { dryRun?: boolean }) =>
      run((ctx) => importFile(ctx, file, dryRun)),
    );
}

async function importFile(ctx: Context, file: string, dryRun: boolean): Promise<string> {
  const counts = { created: 0, completed: 0, unchanged: 0, refused: 0 };
  let number = 0;
  for await (const line of linesOf(await bytesOf(file), maxLineBytes)) {
    number++;
    if (line?.toString().trim() === '') continue;
    try {
      counts[await importLine(ctx, line, dryRun)]++;
    } catch (error) {
      if (!(error instanceof AuthError)) throw error;
      if (error.status >= 500)
        throw new ConfigError(`Stopped at line ${number}: ${error.message} Run it again.`);
      counts.refused++;
      await write(`line ${number}: ${untrustedText(error.message)}`);
    }
  }
  const { created, completed, unchanged, refused } = counts;
  await write(
    `${dryRun ? 'Nothing was changed. It would be: ' : ''}${created} created, ${completed} completed, ${unchanged} unchanged, ${refused} refused.`,
  );
  if (refused > 0) throw new ConfigError(`${refused} ${refused === 1 ? 'line was' : 'lines were'} refused.`);
  return '';
}

/** @throws {ConfigError} if the file cannot be read */
async function bytesOf(file: string): Promise<AsyncIterable<Uint8Array>> {
  try {
    await (await open(file, 'r')).close();
  } catch (error) {
    throw new ConfigError(`${file} cannot be read: ${(error as Error).message}.`);
  }
  return createReadStream(file);
}

/** @throws {AuthError} if the line is refused; then nothing of it has taken effect */
async function importLine(ctx: Context, line: Buffer | undefined, dryRun: boolean): Promise<Outcome> {
  const user = check(importedUser, parse(line), 'the line');
  for (const passkey of user.passkeys) requireRpId(ctx.config, passkey.rp_id);
  try {
    return await ctx.db.transaction(async (tx) => {
      const outcome = await importUser(ctx, tx, user);
      if (dryRun) throw new DryRun(outcome);
      return outcome;
    });
  } catch (error) {
    if (error instanceof DryRun) return error.outcome;
    throw error;
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function parse(line: Buffer | undefined): unknown {
  if (!line) throw new AuthError('invalid_request', `The line has more than ${maxLineBytes} bytes.`);
  try {
    return JSON.parse(utf8.decode(line));
  } catch {
    throw new AuthError('invalid_request', 'The line is not JSON in UTF-8.');
  }
}

/** Browsers use a passkey only for the RP ID that it was made for. */
function requireRpId({ rpId }: Config, given = rpId): void {
  if (given !== rpId) {
    throw new AuthError('invalid_request', `passkeys: made for the RP ID ${given}, but this is ${rpId}.`);
  }
}

/** Adds what a line says and the database does not have, in a transaction. @throws {AuthError} */
export async function importUser(ctx: Context, tx: Executor, user: ImportedUser): Promise<Outcome> {
  const { email, name, user_handle: userHandle } = user;
  const { id, isNew } = await importAccount(ctx, tx, { email, name, userHandle });
  let added = await addMemberships(ctx, tx, id, user.organizations, { by: 'operator' });
  for (const passkey of user.passkeys) {
    const isAdded = await importPasskey(ctx, tx, id, {
      credentialId: passkey.credential_id,
      publicKey: passkey.public_key,
      counter: passkey.sign_count,
      transports: passkey.transports,
      name: passkey.name,
      isBackupEligible: passkey.backup_eligible,
    });
    if (isAdded) added++;
  }
  if (isNew) return 'created';
  return added > 0 ? 'completed' : 'unchanged';
}
