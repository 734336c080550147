import {
  type AuthenticationResponse,
  type CreationOptions,
  type Passkey,
  passkeyAlgorithms,
  type RegistrationResponse,
  type RequestOptions,
} from '@latchkey/contract/passkeys';
import { lockAccount } from '../../identity/account/account.ts';
import type { Config } from '../../platform/config/config.ts';
import type { Caller, Context } from '../../platform/context.ts';
import { newId } from '../../platform/crypto/random.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { AuthError, invalidCredential, resourceNotFound } from '../../platform/errors.ts';
import type { ClientInfo } from '../../platform/values/client-info.ts';
import { type EventDetail, recordChange, recordEvent } from '../../security-log/events/events.ts';
import { notify } from '../../security-log/notices/notices.ts';
import { requireActiveSession, type StartedSession, startSession } from '../../sessions/sessions.ts';
import { defaultNameOf } from './authenticator-names.ts';
import {
  ceremonyRefused,
  checkChallenge,
  issueChallenge,
  spendChallenge,
  spendingOnRefusal,
} from './challenge.ts';
import { checkClientData, readChallengeOf, readClientData } from './client-data.ts';
import * as store from './store.ts';
import {
  expectedOrigins,
  type NewCredential,
  verifyAuthentication,
  verifyRegistration,
} from './verification.ts';

const relyingPartyName = 'Latchkey';

type PasskeyRow = Awaited<ReturnType<typeof store.listPasskeys>>[number];

const recordOf = (row: PasskeyRow): Passkey => ({
  id: row.id,
  credential_id: row.credential_id,
  name: row.name,
  aaguid: row.aaguid,
  device_type: row.device_type,
  backed_up: row.backed_up === 1,
  transports: transportsOf(row),
  created_at: new Date(row.created_at).toISOString(),
  last_used_at: row.last_used_at === null ? null : new Date(row.last_used_at).toISOString(),
});

const transportsOf = (row: { transports: string }): string[] => JSON.parse(row.transports) as string[];

/** The user's passkeys, newest first. */
export async function listPasskeys(ctx: Context, owner: { userId: string }): Promise<Passkey[]> {
  return (await store.listPasskeys(ctx.db.read, { user_id: owner.userId })).map(recordOf);
}

const accountGone = () => invalidCredential('gone');

/**
 * What the browser needs to make a passkey. The challenge is good in this session only. A full account learns
 * of its limit when it registers, not here.
 * @see WebAuthn Level 3 section 5.4
 */
export async function startRegistration(ctx: Context, caller: Caller): Promise<CreationOptions> {
  const [account] = await store.findAccount(ctx.db.read, { user_id: caller.userId });
  if (!account) throw accountGone();
  const existing = await store.listPasskeys(ctx.db.read, { user_id: caller.userId });
  return {
    rp: { id: ctx.config.rpId, name: relyingPartyName },
    user: { id: account.webauthn_user_handle, name: account.email, displayName: account.name },
    challenge: issueChallenge(ctx, 'passkeyRegistration', caller.sessionId),
    pubKeyCredParams: passkeyAlgorithms.map((alg) => ({ type: 'public-key', alg })),
    timeout: ctx.config.challengeTtlSeconds * 1000,
    excludeCredentials: existing.map((row) => ({
      type: 'public-key',
      id: row.credential_id,
      transports: transportsOf(row),
    })),
    authenticatorSelection: {
      residentKey: 'required',
      requireResidentKey: true,
      userVerification: 'required',
    },
    attestation: 'none',
  };
}

/**
 * Adds the passkey that the browser made.
 * @throws {AuthError} `invalid_grant`; `conflict` when it is registered already or there are too many
 */
export async function registerPasskey(
  ctx: Context,
  caller: Caller,
  registration: RegistrationResponse,
  client: ClientInfo,
): Promise<Passkey> {
  const answered = readChallengeOf(registration.response.clientDataJSON);
  const challenge = checkChallenge(ctx, 'passkeyRegistration', answered, caller.sessionId);
  const result = await spendingOnRefusal(ctx, challenge, async () => {
    const clientData = readClientData(registration.response.clientDataJSON);
    const credential = await verifyRegistration(ctx.config, registration, clientData);
    return ctx.db.transaction(async (tx) => {
      if (!(await spendChallenge(tx, challenge))) return 'replay';
      return add(ctx, tx, caller, credential, registration, client);
    });
  });
  switch (result) {
    case 'replay':
      throw ceremonyRefused('replay');
    case 'registered':
      throw new AuthError('conflict', 'This passkey is registered already.');
    case 'full':
      throw new AuthError(
        'conflict',
        `There may be ${ctx.config.passkeysPerUser} passkeys at most. Remove one first.`,
      );
    default:
      return recordOf(result);
  }
}

async function add(
  ctx: Context,
  tx: Executor,
  caller: Caller,
  credential: NewCredential,
  registration: RegistrationResponse,
  client: ClientInfo,
): Promise<PasskeyRow | 'registered' | 'full'> {
  await lockAccount(tx, caller.userId);
  await requireActiveSession(ctx, tx, caller);
  const [passkeys] = await store.countPasskeys(tx, { user_id: caller.userId });
  if (!passkeys || passkeys.count >= ctx.config.passkeysPerUser) return 'full';
  const [row] = await store.insertPasskey(tx, {
    id: newId('pk_', ctx.random),
    user_id: caller.userId,
    credential_id: credential.credentialId,
    public_key: credential.publicKey,
    counter: credential.counter,
    name: registration.name ?? defaultNameOf(credential.aaguid),
    aaguid: credential.aaguid,
    device_type: credential.deviceType,
    backed_up: credential.backedUp ? 1 : 0,
    transports: JSON.stringify([...new Set(registration.response.transports)]),
    session_id: caller.sessionId,
    now: ctx.clock(),
  });
  if (!row) return 'registered';
  await notify(ctx, tx, {
    kind: 'passkey_added',
    userId: caller.userId,
    sessionId: caller.sessionId,
    client,
    passkeyName: row.name,
  });
  await recordEvent(ctx, tx, {
    type: 'passkey_added',
    userId: caller.userId,
    sessionId: caller.sessionId,
    client,
    detail: { passkey_id: row.id, name: row.name },
  });
  return row;
}

/** What the browser needs to log in with whichever passkey the person picks. Looks nothing up, writes nothing. */
export const startLogin = (ctx: Context): RequestOptions => ({
  challenge: issueChallenge(ctx, 'passkeyLogin'),
  timeout: ctx.config.challengeTtlSeconds * 1000,
  rpId: ctx.config.rpId,
  userVerification: 'required',
});

/**
 * Logs in with a passkey. Only a response to a challenge of ours, made on a page of ours, is told that its
 * credential is not registered.
 * @throws {AuthError} `invalid_grant`, `unknown_credential`, `account_disabled`
 */
export async function loginWithPasskey(
  ctx: Context,
  authentication: AuthenticationResponse,
  facts: { readonly client: ClientInfo; readonly replacesCookie: string | undefined },
): Promise<StartedSession> {
  const challenge = checkChallenge(
    ctx,
    'passkeyLogin',
    readChallengeOf(authentication.response.clientDataJSON),
  );
  const result = await spendingOnRefusal(ctx, challenge, async () => {
    const clientData = readClientData(authentication.response.clientDataJSON);
    checkClientData(clientData, { type: 'webauthn.get', origins: expectedOrigins(ctx.config) });
    const [credential] = await store.findCredential(ctx.db.read, { credential_id: authentication.id });
    if (!credential) throw unknownCredential();
    const proven = await verifyAuthentication(ctx.config, authentication, clientData, credential);
    return ctx.db.transaction(async (tx) => {
      if (!(await spendChallenge(tx, challenge))) return 'replay';
      const use = await recordUse(ctx, tx, credential, proven);
      if (use.outcome === 'gone') return use.outcome;
      const result =
        use.outcome === 'clone'
          ? use.outcome
          : await startSession(ctx, tx, {
              userId: credential.user_id,
              kind: 'browser',
              method: 'passkey',
              passkeyId: credential.id,
              ...facts,
            });
      if (use.suspected !== undefined) {
        await recordEvent(ctx, tx, {
          type: 'passkey_clone_suspected',
          userId: credential.user_id,
          client: facts.client,
          detail: {
            passkey_id: credential.id,
            name: use.suspected,
            login: use.outcome === 'clone' ? 'refused' : 'accepted',
          },
        });
      }
      return result;
    });
  });
  if (result === 'gone') throw unknownCredential();
  if (result === 'replay' || result === 'clone') throw ceremonyRefused(result);
  ctx.metrics.logins.inc({ method: 'passkey' });
  return result;
}

const unknownCredential = () =>
  new AuthError('unknown_credential', 'No passkey with this credential ID is registered here.');

/**
 * Writes down counter, backup state and time of a login. A counter that does not grow tells of a second
 * authenticator with the same key: refused where there can be only one, noted where there may be many.
 * `suspected` is then the passkey's name.
 */
async function recordUse(
  ctx: Context,
  tx: Executor,
  credential: { readonly id: string; readonly user_id: string },
  proven: { readonly counter: number; readonly backedUp: boolean },
): Promise<{ outcome: 'good' | 'clone' | 'gone'; suspected?: string }> {
  const use = {
    id: credential.id,
    user_id: credential.user_id,
    counter: proven.counter,
    backed_up: proven.backedUp ? 1 : 0,
    now: ctx.clock(),
  };
  const [advanced] = await store.advanceCounter(tx, use);
  if (advanced) return { outcome: 'good' };
  const [replaced] = await store.replaceCounter(tx, use);
  const [passkey] = await store.findPasskey(tx, { id: credential.id });
  if (!passkey) return { outcome: 'gone' };
  return { outcome: replaced ? 'good' : 'clone', suspected: passkey.name };
}

/**
 * Gives a passkey another name.
 * @throws {AuthError} `not_found`, also for another user's passkey
 */
export async function renamePasskey(
  ctx: Context,
  caller: Caller,
  id: string,
  name: string,
  client: ClientInfo,
): Promise<Passkey> {
  const renamed = await ctx.db.transaction(async (tx) => {
    const [row] = await store.renamePasskey(tx, { id, user_id: caller.userId, name });
    if (!row) return undefined;
    const { userId, sessionId } = caller;
    const detail = { passkey_id: id, name };
    await recordChange(
      ctx,
      tx,
      { type: 'passkey_renamed', userId, sessionId, client, detail },
      renamingsOfBoth,
    );
    return row;
  });
  if (!renamed) throw resourceNotFound();
  return recordOf(renamed);
}

/** One passkey with the name it got last, or the ids of several. */
function renamingsOfBoth(earlier: EventDetail, later: EventDetail): EventDetail {
  const idsOf = ({ passkey_id, passkey_ids = passkey_id ?? '' }: EventDetail) => passkey_ids.split(' ');
  const ids = new Set([...idsOf(earlier), ...idsOf(later)]);
  return ids.size === 1 ? later : { passkey_ids: [...ids].join(' ') };
}

/**
 * Removes a passkey for good.
 * @throws {AuthError} `not_found`, also for another user's passkey
 */
export async function removePasskey(
  ctx: Context,
  caller: Caller,
  id: string,
  client: ClientInfo,
): Promise<void> {
  const removed = await ctx.db.transaction(async (tx) => {
    const [row] = await store.deletePasskey(tx, { id, user_id: caller.userId });
    if (!row) return false;
    await notify(ctx, tx, {
      kind: 'passkey_removed',
      userId: caller.userId,
      sessionId: caller.sessionId,
      client,
      passkeyName: row.name,
    });
    await recordEvent(ctx, tx, {
      type: 'passkey_removed',
      userId: caller.userId,
      sessionId: caller.sessionId,
      client,
      detail: { passkey_id: id, name: row.name },
    });
    return true;
  });
  if (!removed) throw resourceNotFound();
}

/** Where password managers send people to add and manage passkeys. @see W3C Passkey Endpoints */
export const passkeyPages = (config: Config) => ({
  enroll: `${config.baseUrl}/account`,
  manage: `${config.baseUrl}/account`,
});

/** Origins that may use the passkeys of this RP ID. @see WebAuthn Level 3 section 5.11 */
export const relatedOrigins = (config: Config) => ({ origins: expectedOrigins(config) });
