// The least program that keeps the promises of `POST /passkey/login`: it verifies challenge, origin and signature, parsing like the
// service, then spends the challenge, records the use and starts the session in one commit, on SQLite together with all
// requests that have arrived. No cloned passkeys, limits, metrics or other endpoints.

import { createHash } from 'node:crypto';
import { readChallenge } from '../../packages/server/src/platform/crypto/handle.ts';
import {
  advanceCounter,
  findCredential,
  spendChallenge,
} from '../../packages/server/src/sign-in/passkeys/store.ts';
import {
  type CoseKey,
  importPublicKey,
  parseAuthenticatorData,
  readMap,
} from '../../packages/server/src/sign-in/passkeys/verification.ts';
import type { Assertion } from '../../tests/support/authenticator.ts';
import { db, keys, serve } from './server.ts';
import { signIn } from './sign-in.ts';

const origin = process.env['LATCHKEY_BASE_URL'] ?? '';

const sha256 = (data: Uint8Array | string): Buffer => createHash('sha256').update(data).digest();
const bytes = (text: string): Uint8Array<ArrayBuffer> => new Uint8Array(Buffer.from(text, 'base64url'));
const rpIdHash = sha256(new URL(origin).hostname);

/** The passkey whose key made this response to one of our challenges, with what is to be stored about its use. */
async function verify({ id, response }: Assertion) {
  const clientData = JSON.parse(Buffer.from(response.clientDataJSON, 'base64url').toString());
  const challenge = readChallenge(keys, 'passkeyLogin', clientData.challenge);
  if (!challenge || challenge.value <= Date.now()) return undefined;
  if (clientData.type !== 'webauthn.get' || clientData.origin !== origin) return undefined;
  const [passkey] = await findCredential(db.read, { id });
  if (!passkey || response.userHandle !== passkey.webauthn_user_handle) return undefined;
  const data = parseAuthenticatorData(bytes(response.authenticatorData));
  if (!rpIdHash.equals(data.rpIdHash) || !data.isUserPresent || !data.isUserVerified) return undefined;
  const key = importPublicKey(readMap(bytes(passkey.public_key), 0).map as CoseKey);
  const signed = Buffer.concat([bytes(response.authenticatorData), sha256(bytes(response.clientDataJSON))]);
  if (!key?.verifies(bytes(response.signature), signed)) return undefined;
  return { challenge, passkey, counter: data.counter, backed_up: data.isBackedUp ? 1 : 0 };
}

async function tokensOf(verified: Awaited<ReturnType<typeof verify>>, userAgent: string | null) {
  if (!verified) return undefined;
  const { challenge, passkey, counter, backed_up } = verified;
  const { id: passkeyId, user_id: userId } = passkey;
  return db.transaction(async (tx) => {
    const spending = { id: challenge.subject.toString('base64url'), expires_at: challenge.value };
    const use = { id: passkeyId, user_id: userId, counter, backed_up, now: Date.now() };
    const [[spent], [advanced]] = await Promise.all([spendChallenge(tx, spending), advanceCounter(tx, use)]);
    if (!spent || !advanced) throw new Error('refused');
    return signIn(tx, { userId, method: 'passkey', passkeyId, userAgent });
  });
}

serve(async (request) => {
  const verified = await verify((await request.json()) as Assertion);
  const tokens = await tokensOf(verified, request.headers.get('User-Agent'));
  return tokens ? { status: 200, body: tokens } : { status: 400, body: {}, outcome: 'invalid_grant' };
});
