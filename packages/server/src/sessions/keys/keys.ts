// Keys: sessions of programs, without refresh tokens.

import { fieldLimits } from '@latchkey/contract/field-limits';
import { trustError } from '@latchkey/contract/key-trust';
import type { Key, KeyTrust, NewKey } from '@latchkey/contract/keys';
import { everything } from '@latchkey/contract/scope-names';
import { lockAccountRow } from '../../accounts/locks.ts';
import type { Context, Requester } from '../../platform/context.ts';
import { subjectBytes } from '../../platform/crypto/handle.ts';
import { sha256 } from '../../platform/crypto/primitives.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { type PageRequest, paginate, placeOf } from '../../platform/database/pagination.ts';
import type { Tables } from '../../platform/database/schema.ts';
import { conflict, invalidRequest } from '../../platform/errors.ts';
import { composeMessage } from '../../platform/mail/compose.ts';
import type { Template } from '../../platform/mail/message.ts';
import { repeat } from '../../platform/timers.ts';
import type { ClientInfo } from '../../platform/values/client-address.ts';
import { shown } from '../../platform/values/shown.ts';
import { recordEvent, recordOncePerHour, recordOncePerHourIn } from '../../security-log/events/events.ts';
import { writeFeedEvent } from '../../security-log/feed-events/feed-events.ts';
import { mailOwner, notify, referenceOf, writerForOwner } from '../../security-log/notices/notices.ts';
import { checkAuthorizationDetails, holdAccess, resolveAccess } from '../../services/scopes.ts';
import { type KeyRow, keyDetail, keyEvent } from '../ending.ts';
import { whyNotStarted } from '../starting.ts';
import * as store from '../store.ts';
import { keyOf, parseDetails, sessionIdOf, storedScope } from '../tokens.ts';
import type { Act, Touches } from '../touches.ts';

/**
 * Checks a key that is about to be created, apart from the account.
 * @throws {AuthError} `invalid_request` for an issuer or claims that no key can trust; `invalid_scope`,
 * `invalid_target`, `invalid_authorization_details`
 */
async function checkKey(ctx: Context, { trust, authorization_details, ...requested }: NewKey) {
  if (trust) requireTrustworthy(ctx, trust);
  const details =
    authorization_details === undefined ? undefined : checkAuthorizationDetails(authorization_details);
  return { details, ...(await resolveAccess(ctx, requested)) };
}

const actOf = ({ passkey: _, ...shown }: NewKey): Act => ({ act: 'create a key', shown });

/** What creating a key takes. Creates nothing. @throws {AuthError} those of `checkKey` */
export async function challengeKey(
  ctx: Context,
  touches: Touches,
  { caller, body }: Requester & { readonly body: NewKey },
) {
  await checkKey(ctx, body);
  return { passkey: await touches.offer(ctx, caller, actOf(body)) };
}

/**
 * Creates a key. It is shown only here, and not at all if tokens of an issuer stand for it.
 * @throws {AuthError} the errors of the touch and of `checkKey`; `conflict` for one key too many
 */
export async function createKey(ctx: Context, touches: Touches, by: Requester, requested: NewKey) {
  const { caller, client } = by;
  const { name, expires_in, trust, passkey } = requested;
  await touches.require(ctx, caller, passkey);
  const { details, scope, resource } = await checkKey(ctx, requested);
  const describe = async () => actOf(requested);
  return touches.confirm(ctx, by, passkey, describe, async (tx, { passkeyId }) => {
    const { userId, sessionId } = caller;
    const now = ctx.clock();
    await holdAccess(tx, { scope, resource });
    const [active] = await store.countKeys(tx, { user_id: userId, now });
    if (!active || active.keys >= fieldLimits.keys)
      throw conflict(`An account can have at most ${fieldLimits.keys} keys. Remove one first.`);
    const secret = ctx.random(subjectBytes);
    const row = {
      id: sessionIdOf(secret, 'key_'),
      client_name: name,
      scope: storedScope(scope),
      resource,
      authorization_details: details === undefined ? null : JSON.stringify(details),
      trust: trust ? JSON.stringify(trust) : null,
      expires_at: now + expires_in * 1000,
      // Never used.
      last_used_at: 0,
    };
    const [inserted] = await store.insertSession(tx, {
      ...row,
      user_id: userId,
      session_epoch: null,
      email_key: null,
      kind: 'key',
      method: 'key',
      device_name: null,
      ip_address: client.ipAddress,
      user_agent: client.userAgent,
      now,
      // A key has no idle timeout.
      idle_expires_at: row.expires_at,
      parent_session_id: null,
      passkey_id: null,
      client_id: null,
      authenticated_at: null,
      authenticated_by: null,
    });
    if (!inserted) throw await whyNotStarted(tx, userId);
    await notify(ctx, tx, { kind: 'key_added', userId, sessionId, client, keyName: name });
    const detail = {
      ...keyDetail(row),
      ...(trust && { issuer: trust.issuer }),
      ...(passkeyId && { passkey_id: passkeyId }),
    };
    await recordEvent(ctx, tx, { type: 'key_created', userId, sessionId, client, detail });
    await writeFeedEvent(ctx, tx, keyEvent(userId, row.id, 'create'));
    const key = trust ? {} : { key: keyOf(ctx, secret, row.expires_at) };
    return { ...shownKey({ ...row, created_at: now }), ...key };
  });
}

/** Requires a listed issuer, and claims that identify a job. @throws {AuthError} `invalid_request` */
function requireTrustworthy({ config }: Context, trust: KeyTrust): void {
  if (!config.trustedIssuers.includes(trust.issuer))
    throw invalidRequest('trust.issuer: is not trusted by this service');
  const error = trustError(trust);
  if (error !== undefined) throw invalidRequest(`trust.claims: ${error}`);
}

/** One page of the user's active keys, newest first. */
export async function listKeys(ctx: Context, owner: { readonly userId: string }, page: PageRequest) {
  const rows = await store.listKeys(ctx.db.read, {
    user_id: owner.userId,
    now: ctx.clock(),
    ...placeOf(page, { time: Number.MAX_SAFE_INTEGER, id: 'key_' }),
  });
  const { entries, next_cursor } = paginate(rows, page.limit, ({ created_at: time, id }) => ({ time, id }));
  return { keys: entries.map(shownKey), next_cursor };
}

type ShownRow = Pick<
  Tables['sessions'],
  keyof KeyRow | 'authorization_details' | 'trust' | 'created_at' | 'expires_at' | 'last_used_at'
>;

const shownKey = (row: ShownRow): Key => ({
  id: row.id,
  name: row.client_name ?? '',
  scope: row.scope ?? everything,
  resource: row.resource,
  ...(row.authorization_details && { authorization_details: parseDetails(row.authorization_details)! }),
  ...(row.trust === null ? {} : { trust: parseTrust(row.trust) }),
  ...shown(row, ['created_at', 'expires_at']),
  last_used_at: row.last_used_at === 0 ? null : new Date(row.last_used_at).toISOString(),
});

/** Records, at most once an hour, that a token of an issuer stood for a key. */
export const recordUsedKey = (
  ctx: Context,
  tx: Executor,
  cause: { readonly userId: string; readonly client: ClientInfo },
  { id, client_name }: Pick<KeyRow, 'id' | 'client_name'>,
  { issuer, subject }: { readonly issuer: string; readonly subject: string | undefined },
): Promise<void> => {
  const used = { key_id: id, name: client_name ?? '', issuer };
  const detail = subject === undefined ? used : { ...used, subject };
  return recordOncePerHourIn(ctx, tx, { ...cause, type: 'key_used', sessionId: id, detail }, id);
};

/** Records, once an hour for each claim, that a token did not match it, never the claim's value. */
export const recordRefusedKey = (
  ctx: Context,
  { id: sessionId, user_id: userId, client_name }: Pick<Tables['sessions'], 'id' | 'user_id' | 'client_name'>,
  { issuer, claim }: { readonly issuer: string; readonly claim: string },
  client: ClientInfo,
): Promise<void> => {
  const detail = { key_id: sessionId, name: client_name ?? '', issuer, claim };
  // Names of claims may be longer than an index allows.
  const subject = `${sessionId} ${sha256('claim', claim).toString('base64url')}`;
  return recordOncePerHour(ctx, { type: 'key_refused', userId, sessionId, client, detail }, subject);
};

export const parseTrust = (stored: string): KeyTrust => JSON.parse(stored) as KeyTrust;

// Tells the owners of keys that a key is about to expire.

export const keyEndsTemplate = 'key_ends';

/** How long before its end a key is announced. */
const leadMs = 7 * 86_400_000;

const pauseMs = 5 * 60_000;
const batchSize = 100;

/** Announces once each key that ends within 7 days, late if no node was running when it became due. */
export async function announceKeyEnds(ctx: Context, signal?: AbortSignal): Promise<void> {
  for (let announced = batchSize; announced > 0; ) {
    announced = 0;
    const now = ctx.clock();
    const keys = await store.listKeysToAnnounce(ctx.db.read, { now, before: now + leadMs, limit: batchSize });
    for (const key of keys) {
      if (signal?.aborted) return;
      if (await announce(ctx, key)) announced++;
    }
  }
}

/** Returns whether this call announced the key, and no other. */
const announce = (ctx: Context, { id, user_id: userId }: { id: string; user_id: string }): Promise<boolean> =>
  ctx.db.transaction(async (tx) => {
    const [account] = await lockAccountRow(tx, { id: userId });
    const [marked] = await store.markAnnounced(tx, { id, now: ctx.clock() });
    if (!account || !marked) return false;
    const { email: recipient, email_key: recipientKey } = account;
    const mail = { template: keyEndsTemplate, recipient, recipientKey, userId, reference: id };
    await mailOwner(ctx, tx, { ...mail, expiresAt: marked.expires_at });
    return true;
  });

/** Has no link: a new key needs a recent sign-in. Not sent if the key has ended meanwhile. */
export const keyEndsMail: Template = async (ctx, mail) => {
  const { reference: id, language } = referenceOf(mail);
  const [key] = await store.findActiveKey(ctx.db.read, { id, now: ctx.clock() });
  if (!key) return undefined;
  const writer = await writerForOwner(ctx, key.user_id, language);
  const { fill, when, texts } = writer;
  const { subject, what, expires, next } = texts.keyEnds;
  const time = when(key.expires_at);
  return composeMessage(writer, fill(subject), [
    fill(what, { time }),
    {
      facts: [
        { label: texts.notice.key, claimed: key.client_name ?? '' },
        { label: expires, value: time },
      ],
    },
    next,
  ]);
};

/** Announces again and again until it is aborted, on every node. */
export const keepAnnouncingKeyEnds = (ctx: Context, signal: AbortSignal): Promise<void> =>
  repeat(ctx.timers, pauseMs, signal, () =>
    announceKeyEnds(ctx, signal).catch(() => ctx.log.warn('the ends of keys were not announced')),
  );
