import type { Context } from '../../platform/context.ts';
import { decrypt, encrypt } from '../../platform/crypto/encryption.ts';
import { sha256 } from '../../platform/crypto/hash.ts';
import type { RateLimitSubject } from '../../platform/rate-limits/limiter.ts';
import type { ClientInfo } from '../../platform/values/client-address.ts';
import { addressKey, networkKey } from '../../platform/values/client-address.ts';
import { knownBrowserTtlSeconds } from '../../platform/values/lifetimes.ts';
import * as store from './store.ts';

/** How many addresses a cookie remembers. Signing in to one more forgets the oldest. */
export const maxKnownAddresses = 5;

// The cookie's bytes: browser id 16 | per address: hash 16, user id 16, session id 16, expiry in ms since 1970 6.
// Unused entries hold zeros, so that the length does not reveal how many addresses there are.
const idBytes = 16;
const expiryBytes = 6;
const entryBytes = 3 * idBytes + expiryBytes;
const encryptionLabel = 'known browser';
const encryptionPlace = 'cookie';
const idPrefix = { user: 'usr_', session: 'ses_' } as const;

/** A sign-in in a browser. */
interface BrowserSignIn {
  readonly emailKey: string;
  readonly userId: string;
  readonly sessionId: string;
}

/** The latest sign-in from a browser with an address. */
interface KnownSignIn extends Omit<BrowserSignIn, 'emailKey'> {
  readonly addressHash: Buffer;
  readonly expiresAt: number;
}

interface KnownBrowser {
  /** Random, and the same for as long as the browser keeps a valid cookie. */
  readonly id: Buffer;
  /** Newest first. */
  readonly signIns: readonly KnownSignIn[];
}

const addressHashOf = (emailKey: string): Buffer => sha256('known address', emailKey).subarray(0, idBytes);

const writeId = (bytes: Buffer, at: number, prefix: string, id: string): void =>
  void bytes.set(Buffer.from(id.slice(prefix.length), 'base64url'), at);

const readId = (bytes: Buffer, at: number, prefix: string): string =>
  prefix + bytes.subarray(at, at + idBytes).toString('base64url');

function encode({ id, signIns }: KnownBrowser): Buffer {
  const bytes = Buffer.alloc(idBytes + maxKnownAddresses * entryBytes);
  bytes.set(id);
  for (const [index, signIn] of signIns.entries()) {
    const at = idBytes + index * entryBytes;
    bytes.set(signIn.addressHash, at);
    writeId(bytes, at + idBytes, idPrefix.user, signIn.userId);
    writeId(bytes, at + 2 * idBytes, idPrefix.session, signIn.sessionId);
    bytes.writeUIntBE(signIn.expiresAt, at + 3 * idBytes, expiryBytes);
  }
  return bytes;
}

/** Leaves out expired entries, and with them unused ones, whose expiry is 0. */
function decode(bytes: Buffer, now: number): KnownBrowser {
  const signIns: KnownSignIn[] = [];
  for (let at = idBytes; at + entryBytes <= bytes.length; at += entryBytes) {
    signIns.push({
      addressHash: bytes.subarray(at, at + idBytes),
      userId: readId(bytes, at + idBytes, idPrefix.user),
      sessionId: readId(bytes, at + 2 * idBytes, idPrefix.session),
      expiresAt: bytes.readUIntBE(at + 3 * idBytes, expiryBytes),
    });
  }
  return { id: bytes.subarray(0, idBytes), signIns: signIns.filter(({ expiresAt }) => expiresAt > now) };
}

/** Decrypts a cookie; undefined if there is none, it was tampered with or its key has left the ring. */
function readCookie(ctx: Context, cookie: string | undefined): KnownBrowser | undefined {
  const opened =
    cookie === undefined ? undefined : decrypt(ctx.keys, encryptionLabel, encryptionPlace, cookie);
  return opened && decode(opened.secret, ctx.clock());
}

/**
 * Adds a sign-in to the known-browser cookie, which later recognizes the browser as one that signed in with the address.
 * Encrypted, so the cookie does not reveal who signed in.
 */
export function rememberBrowser(
  ctx: Context,
  cookie: string | undefined,
  { emailKey, ...signIn }: BrowserSignIn,
): string {
  const known = readCookie(ctx, cookie);
  const addressHash = addressHashOf(emailKey);
  const others = known?.signIns.filter((other) => !other.addressHash.equals(addressHash)) ?? [];
  const expiresAt = ctx.clock() + knownBrowserTtlSeconds * 1000;
  const signIns = [{ ...signIn, addressHash, expiresAt }, ...others].slice(0, maxKnownAddresses);
  const browser = { id: known?.id ?? ctx.random(idBytes), signIns };
  return encrypt(ctx.keys, ctx.random, encryptionLabel, encryptionPlace, encode(browser));
}

/**
 * The id of a browser that signed in with this address before; undefined for any other. That sign-in must not have been
 * stolen or disowned, and its account must still have the address. Runs a query only if the cookie names the address.
 */
export async function recognizeBrowser(
  ctx: Context,
  cookie: string | undefined,
  emailKey: string,
): Promise<string | undefined> {
  const browser = readCookie(ctx, cookie);
  const addressHash = addressHashOf(emailKey);
  const signIn = browser?.signIns.find((known) => known.addressHash.equals(addressHash));
  if (!browser || !signIn) return undefined;
  const [account] = await store.findKnownAccount(ctx.db.read, {
    id: signIn.userId,
    email_key: emailKey,
    session_id: signIn.sessionId,
  });
  return account && browser.id.toString('base64url');
}

/** The mailbox of an address: subaddresses such as `ada+shop@` belong to the same one. */
const mailboxOf = (emailKey: string): string => emailKey.replace(/\+.*@/s, '@');

/**
 * The limits of a requested mail. Responses report them only with a refusal: otherwise they would reveal how many mails
 * others request, or whether the browser is known.
 */
export const mailLimits = (emailKey: string, client: ClientInfo): RateLimitSubject[] => [
  { limit: 'mails_by_client', subject: addressKey(client.ipAddress) },
  { limit: 'mails_by_pair', subject: `${networkKey(client.ipAddress)} ${mailboxOf(emailKey)}` },
  { limit: 'mails_by_recipient', subject: mailboxOf(emailKey) },
];

/**
 * The limit of a mail requested by a browser that signed in to the address before. It replaces `mailLimits`, so strangers
 * cannot exhaust it. A refusal looks the same as for an unknown browser.
 */
export const mailByKnownBrowser = (emailKey: string, browser: string): RateLimitSubject[] => [
  {
    limit: 'mails_by_known_browser',
    subject: `${browser} ${mailboxOf(emailKey)}`,
    reportedAs: 'mails_by_pair',
  },
];
