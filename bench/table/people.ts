// What the kinds of requests need in the database of Latchkey: links, device codes and passkeys of the accounts that
// `fillStore` adds.

import { createPublicKey } from 'node:crypto';
import { mintChallenge, mintHandle, subjectBytes } from '../../packages/server/src/platform/crypto/handle.ts';
import type { KeyRing } from '../../packages/server/src/platform/crypto/primitives.ts';
import { sha256, systemRandom } from '../../packages/server/src/platform/crypto/primitives.ts';
import type { Executor } from '../../packages/server/src/platform/database/executor.ts';
import { authorizationIdOf } from '../../packages/server/src/sign-in/device/redeeming.ts';
import { insertAuthorization } from '../../packages/server/src/sign-in/device/store.ts';
import { deleteMagicLinks, insertMagicLink } from '../../packages/server/src/sign-in/magic-links/store.ts';
import { insertPasskey } from '../../packages/server/src/sign-in/passkeys/store.ts';
import {
  type Assertion,
  type Authenticator,
  coseKey,
  createAuthenticator,
} from '../../tests/support/authenticator.ts';
import { emailAt, userHandleAt, userIdAt } from '../support/store.ts';

const hourMs = 3_600_000;
const userAgent = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';

/** Every request that starts something says that it comes from this browser. */
export const browser = { 'User-Agent': userAgent, 'Content-Type': 'application/json' } as const;

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/**
 * Adds a sign-in link of each of these accounts, and returns their tokens. It is the only one of its address: a sign-in spends all of
 * them, and without rate limits the kind that asks for links leaves more than any address ever has.
 */
export async function addLinks(tx: Executor, keys: KeyRing, accounts: Iterable<number>): Promise<string[]> {
  const now = Date.now();
  const tokens: string[] = [];
  for (const index of accounts) {
    const subject = systemRandom(subjectBytes);
    const expires_at = now + hourMs;
    const email = emailAt(index);
    const link = { id: subject.toString('base64url'), email, email_key: email, created_at: now, expires_at };
    await deleteMagicLinks(tx, { email_key: email });
    await insertMagicLink(tx, { ...link, ip_address: '127.0.0.1', user_agent: userAgent, language: null });
    tokens.push(mintHandle(keys, 'magicLink', { subject, value: expires_at }));
  }
  return tokens;
}

/** Adds pending device authorizations, and returns their device codes. */
export async function addDevices(tx: Executor, keys: KeyRing, count: number): Promise<string[]> {
  const now = Date.now();
  const codes: string[] = [];
  for (const _ of numbers(count)) {
    const secret = systemRandom(subjectBytes);
    const expires_at = now + hourMs;
    await insertAuthorization(tx, {
      ...{ id: authorizationIdOf(secret), session_id: `ses_${secret.toString('base64url')}` },
      user_code_hash: sha256('user code', secret).toString('base64url'),
      ...{ client_id: null, client_name: 'latchkey', device_name: 'a laptop', scope: null, resource: null },
      ...{
        ip_address: '127.0.0.1',
        user_agent: userAgent,
        created_at: now,
        expires_at,
        interval_seconds: 1,
        can_confirm: 0,
      },
    });
    codes.push(mintHandle(keys, 'deviceCode', { subject: secret, value: expires_at }));
  }
  return codes;
}

/** One key for all passkeys, which sign with it under an id of their own. */
export class Passkeys {
  readonly #authenticator: Authenticator;
  readonly #rpId: string;

  constructor(origin: string) {
    this.#authenticator = createAuthenticator({ origin, algorithm: 'ES256' });
    this.#rpId = new URL(origin).hostname;
    const ceremony = { challenge: '', rp: { id: this.#rpId }, user: { id: '' } };
    this.#authenticator.create(ceremony);
  }

  readonly #idOf = (index: number): string => sha256('passkey', `${index}`).toString('base64url');

  /** Adds a passkey to each of the first accounts. */
  async add(tx: Executor, accounts: number): Promise<void> {
    const { privateKey } = this.#authenticator.credentials[0]!;
    const public_key = coseKey('ES256', createPublicKey(privateKey)).toString('base64url');
    for (const index of numbers(accounts)) {
      await insertPasskey(tx, {
        ...{ id: `pk_${this.#idOf(index).slice(0, 22)}`, user_id: userIdAt(index), public_key },
        ...{ credential_id: this.#idOf(index), counter: 0, name: 'a passkey', now: Date.now() },
        ...{ aaguid: '00000000-0000-0000-0000-000000000000', device_type: 'single_device', backed_up: 0 },
        ...{ transports: '[]', session_id: null },
      });
    }
  }

  /** A sign-in with each of the first passkeys. */
  assertions(keys: KeyRing, accounts: number): Assertion[] {
    const value = Date.now() + hourMs;
    return numbers(accounts).map((index) => {
      const subject = systemRandom(subjectBytes);
      const challenge = mintChallenge(keys, 'passkeyLogin', { subject, value });
      const forgery = { id: this.#idOf(index), userHandle: userHandleAt(index) };
      return this.#authenticator.get({ challenge, rpId: this.#rpId }, forgery);
    });
  }
}
