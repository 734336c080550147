import { fieldLimits } from '@latchkey/contract/field-limits';
import type { Passkey } from '@latchkey/contract/passkeys';
import type { Context, Requester } from '../../platform/context.ts';
import { newId } from '../../platform/crypto/primitives.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { conflict, invalidRequest, resourceNotFound } from '../../platform/errors.ts';
import { shown } from '../../platform/values/shown.ts';
import { type EventDetail, recordChange, recordEvent } from '../../security-log/events/events.ts';
import { type CredentialChange, writeFeedEvent } from '../../security-log/feed-events/feed-events.ts';
import { notify } from '../../security-log/notices/notices.ts';
import { lockAccountAs } from '../../sessions/sessions.ts';
import { defaultNameOf } from './authenticator-names.ts';
import * as store from './store.ts';
import { isVerifiableKey } from './verification.ts';

export const { deletePasskeys } = store;

export type PasskeyRow = Awaited<ReturnType<typeof store.listPasskeys>>[number];

/** The public representation of a stored passkey. */
export const passkeyOf = (row: PasskeyRow): Passkey => ({
  ...shown(row, ['id', 'credential_id', 'name', 'aaguid', 'device_type', 'backed_up', 'transports']),
  ...shown(row, ['created_at', 'last_used_at']),
  backed_up: row.backed_up === 1,
  transports: transportsOf(row),
});

/** How the options of a ceremony name a passkey. */
export const descriptorOf = (row: Pick<PasskeyRow, 'credential_id' | 'transports'>) => ({
  type: 'public-key' as const,
  id: row.credential_id,
  transports: transportsOf(row),
});

const transportsOf = (row: { transports: string }): string[] => JSON.parse(row.transports) as string[];

/** Announces to services that a passkey was added, renamed or removed, in the transaction that does so. Call it last. */
export const announcePasskey = (
  ctx: Context,
  tx: Executor,
  row: Pick<PasskeyRow, 'transports'> & { readonly user_id: string },
  change_type: CredentialChange,
): Promise<void> =>
  writeFeedEvent(ctx, tx, {
    type: 'credential-change',
    userId: row.user_id,
    detail: {
      credential_type: transportsOf(row).includes('internal') ? 'fido2-platform' : 'fido2-roaming',
      change_type,
    },
  });

/** The user's passkeys, newest first. */
export async function listPasskeys(ctx: Context, owner: { userId: string }): Promise<Passkey[]> {
  return (await store.listPasskeys(ctx.db.read, { user_id: owner.userId })).map(passkeyOf);
}

/** Renames a passkey of the caller. @throws {AuthError} `not_found`, including for another user's passkey */
export async function renamePasskey(ctx: Context, by: Requester, id: string, name: string): Promise<Passkey> {
  const { userId, sessionId } = by.caller;
  return ctx.db.transaction(async (tx) => {
    await lockAccountAs(ctx, tx, by.caller);
    const [row] = await store.renamePasskey(tx, { id, user_id: userId, name });
    if (!row) throw resourceNotFound();
    const detail = { passkey_id: id, name };
    const event = { type: 'passkey_renamed', userId, sessionId, client: by.client, detail } as const;
    await recordChange(ctx, tx, event, mergeRenames);
    await announcePasskey(ctx, tx, row, 'update');
    return passkeyOf(row);
  });
}

/** The detail of two renames in one event: the latest name of a single passkey, or the ids of several. */
function mergeRenames(earlier: EventDetail, later: EventDetail): EventDetail {
  const idsOf = ({ passkey_id, passkey_ids = passkey_id ?? '' }: EventDetail) => `${passkey_ids}`.split(' ');
  const ids = new Set([...idsOf(earlier), ...idsOf(later)]);
  return ids.size === 1 ? later : { passkey_ids: [...ids].join(' ') };
}

/**
 * Removes a passkey of the caller for good, and mails the owner a security notice.
 * @throws {AuthError} `not_found`, including for another user's passkey
 */
export async function removePasskey(ctx: Context, by: Requester, id: string): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    await lockAccountAs(ctx, tx, by.caller);
    const [row] = await store.deletePasskey(tx, { id, user_id: by.caller.userId });
    if (!row) throw resourceNotFound();
    await tellOwner(ctx, tx, 'passkey_removed', row, by);
    await announcePasskey(ctx, tx, row, 'delete');
  });
}

/** Records in the log of the owner that a passkey was added or removed, with a security notice. */
export async function tellOwner(
  ctx: Context,
  tx: Executor,
  type: 'passkey_added' | 'passkey_removed',
  { id, name }: Pick<PasskeyRow, 'id' | 'name'>,
  { caller: { userId, sessionId }, client }: Requester,
): Promise<void> {
  await notify(ctx, tx, { kind: type, userId, sessionId, client, passkeyName: name });
  await recordEvent(ctx, tx, { type, userId, sessionId, client, detail: { passkey_id: id, name } });
}

/** A passkey that was registered with another service for the same RP ID. */
interface ImportedPasskey {
  readonly credential_id: string;
  /** A COSE key in base64url. */
  readonly public_key: string;
  readonly sign_count: number;
  readonly transports: readonly string[];
  readonly name?: string | undefined;
  /** Whether it may be on several devices. Sign-ins that say otherwise are refused. @see WebAuthn Level 3 section 6.1.3 */
  readonly backup_eligible: boolean;
}

/** The AAGUID of an authenticator that does not identify its model. */
const unknownAaguid = '00000000-0000-0000-0000-000000000000';

/**
 * For the operator: adds a passkey to a locked account, unless the account has it. Returns whether it is new. Sends no
 * notice, because nothing happened that its owner could disown.
 * @throws {AuthError} `conflict` if another account has it, or this one has it with another public key or has too many;
 * `invalid_request` for a key of another kind
 */
export async function importPasskey(ctx: Context, tx: Executor, userId: string, passkey: ImportedPasskey) {
  const [existing] = await store.findCredential(tx, { id: passkey.credential_id });
  if (existing && existing.user_id !== userId) throw registeredElsewhere();
  if (existing && existing.public_key !== passkey.public_key) {
    throw conflict('public_key: differs from the registered one.');
  }
  if (existing) return false;
  if (!isVerifiableKey(passkey.public_key)) {
    throw invalidRequest('public_key: must be a COSE key for ES256, EdDSA or RS256');
  }
  const row = await storePasskey(ctx, tx, {
    user_id: userId,
    credential_id: passkey.credential_id,
    public_key: passkey.public_key,
    counter: passkey.sign_count,
    name: passkey.name ?? defaultNameOf(unknownAaguid),
    aaguid: unknownAaguid,
    device_type: passkey.backup_eligible ? 'multi_device' : 'single_device',
    backed_up: 0,
    transports: JSON.stringify([...new Set(passkey.transports)]),
  });
  if (!row) throw registeredElsewhere();
  const detail = { passkey_id: row.id, name: row.name, by: 'operator' };
  await recordEvent(ctx, tx, { type: 'passkey_added', userId, detail });
  await announcePasskey(ctx, tx, row, 'create');
  return true;
}

const registeredElsewhere = () => conflict('A passkey is registered for another account.');

/**
 * Stores a passkey of a locked account; undefined if its credential is registered, for any account.
 * @throws {AuthError} `conflict` if the account has too many
 */
export async function storePasskey(
  ctx: Context,
  tx: Executor,
  passkey: Omit<Parameters<typeof store.insertPasskey>[1], 'id' | 'now'>,
): Promise<PasskeyRow | undefined> {
  const [passkeys] = await store.countPasskeys(tx, { user_id: passkey.user_id });
  if (!passkeys || passkeys.count >= fieldLimits.passkeys)
    throw conflict(`An account can have at most ${fieldLimits.passkeys} passkeys. Remove one first.`);
  const [row] = await store.insertPasskey(tx, { id: newId('pk_', ctx.random), ...passkey, now: ctx.clock() });
  return row;
}
