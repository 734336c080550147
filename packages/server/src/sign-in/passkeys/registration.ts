import {
  type CreationOptions,
  passkeyAlgorithms,
  type RegistrationResponse,
} from '@latchkey/contract/passkeys';
import type { Caller, Context, Requester } from '../../platform/context.ts';
import { conflict, invalidCredential } from '../../platform/errors.ts';
import { lockAccountAs } from '../../sessions/sessions.ts';
import { defaultNameOf } from './authenticator-names.ts';
import {
  ceremonyRefused,
  challengeTtlMs,
  issueChallenge,
  spendChallenge,
  spendingOnRefusal,
  verifyChallenge,
} from './challenge.ts';
import { announcePasskey, descriptorOf, passkeyOf, storePasskey, tellOwner } from './passkeys.ts';
import * as store from './store.ts';
import { parseClientData, verifyClientData, verifyRegistration } from './verification.ts';

/**
 * Options for creating a passkey in this session. An account that has the maximum number of passkeys is refused only
 * when it registers another one, not here.
 * @see WebAuthn Level 3 section 5.4
 */
export async function startRegistration(ctx: Context, caller: Caller): Promise<CreationOptions> {
  const [account] = await store.findAccount(ctx.db.read, { user_id: caller.userId });
  if (!account) throw invalidCredential('gone');
  const existing = await store.listPasskeys(ctx.db.read, { user_id: caller.userId });
  return {
    rp: { id: ctx.config.rpId, name: ctx.config.product.name },
    user: { id: account.webauthn_user_handle, name: account.email, displayName: account.name },
    challenge: issueChallenge(ctx, 'passkeyRegistration', caller.sessionId),
    pubKeyCredParams: passkeyAlgorithms.map((alg) => ({ type: 'public-key', alg })),
    timeout: challengeTtlMs,
    excludeCredentials: existing.map(descriptorOf),
    authenticatorSelection: {
      residentKey: 'required',
      requireResidentKey: true,
      userVerification: 'required',
    },
    attestation: 'none',
  };
}

/**
 * Verifies a new passkey and adds it to the account.
 * @throws {AuthError} `invalid_grant`; `conflict` when it is already registered or the account has too many
 * @see WebAuthn Level 3 section 7.1
 */
export async function registerPasskey(ctx: Context, by: Requester, registration: RegistrationResponse) {
  const { caller } = by;
  const clientData = parseClientData(registration.response.clientDataJSON);
  const challenge = verifyChallenge(ctx, 'passkeyRegistration', clientData.challenge, caller.sessionId);
  return spendingOnRefusal(ctx, challenge, async () => {
    verifyClientData(ctx.config, clientData, 'webauthn.create');
    const credential = verifyRegistration(ctx.config, registration);
    return ctx.db.transaction(async (tx) => {
      if (!(await spendChallenge(tx, challenge))) throw ceremonyRefused('replay');
      await lockAccountAs(ctx, tx, caller);
      const row = await storePasskey(ctx, tx, {
        user_id: caller.userId,
        ...credential,
        name: registration.name ?? defaultNameOf(credential.aaguid),
        transports: JSON.stringify([...new Set(registration.response.transports)]),
      });
      if (!row) throw conflict('This passkey is already registered.');
      await tellOwner(ctx, tx, 'passkey_added', row, by);
      await announcePasskey(ctx, tx, row, 'create');
      return passkeyOf(row);
    });
  });
}
