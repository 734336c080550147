import type { Context } from '../../platform/context.ts';
import { decrypt, encrypt } from '../../platform/crypto/encryption.ts';
import { hashedId } from '../../platform/crypto/primitives.ts';
import type { RateLimitSubject } from '../../platform/rate-limits/limiter.ts';
import { addressKey, type ClientInfo, networkKey } from '../../platform/values/client-address.ts';
import { knownBrowserTtlSeconds } from '../../platform/values/lifetimes.ts';
import * as store from './store.ts';

/** How many addresses a cookie remembers. Signing in to one more forgets the oldest. */
export const maxKnownAddresses = 5;

const browserIdBytes = 16;
const encryptionLabel = 'sign-ins of a known browser';
const encryptionPlace = 'cookie';

/** Every cookie is as long as the longest, so that its length does not reveal how many addresses it has. */
const cookieCharacters = 800;

interface BrowserSignIn {
  readonly emailKey: string;
  readonly userId: string;
  readonly sessionId: string;
}

interface KnownSignIn extends Omit<BrowserSignIn, 'emailKey'> {
  readonly addressHash: string;
  /** In milliseconds since 1970. */
  readonly expiresAt: number;
}

/** What the cookie says, as JSON. */
interface KnownBrowser {
  /** Random, and the same for as long as the browser keeps a valid cookie. */
  readonly id: string;
  /** Newest first. */
  readonly signIns: readonly KnownSignIn[];
}

const addressHashOf = (emailKey: string): string => hashedId('known address', emailKey);

/** Decrypts a cookie; undefined if there is none, it was tampered with or its key has left the ring. */
function readCookie(ctx: Context, cookie: string | undefined): KnownBrowser | undefined {
  const opened =
    cookie === undefined ? undefined : decrypt(ctx.keys, encryptionLabel, encryptionPlace, cookie);
  if (!opened) return undefined;
  const { id, signIns } = JSON.parse(opened.secret.toString()) as KnownBrowser;
  return { id, signIns: signIns.filter(({ expiresAt }) => expiresAt > ctx.clock()) };
}

/** Adds a sign-in to the cookie, which is encrypted, so that it does not reveal who signed in. */
export function rememberBrowser(
  ctx: Context,
  cookie: string | undefined,
  { emailKey, ...signIn }: BrowserSignIn,
): string {
  const known = readCookie(ctx, cookie);
  const addressHash = addressHashOf(emailKey);
  const others = known?.signIns.filter((other) => other.addressHash !== addressHash) ?? [];
  const expiresAt = ctx.clock() + knownBrowserTtlSeconds * 1000;
  const signIns = [{ ...signIn, addressHash, expiresAt }, ...others].slice(0, maxKnownAddresses);
  const id = known?.id ?? ctx.random(browserIdBytes).toString('base64url');
  const text = JSON.stringify({ id, signIns } satisfies KnownBrowser).padEnd(cookieCharacters);
  return encrypt(ctx.keys, ctx.random, encryptionLabel, encryptionPlace, Buffer.from(text));
}

/**
 * The id of a browser that signed in with this address before, if the account still has it and that sign-in
 * was neither stolen nor disowned. Runs a query only if the cookie names the address.
 */
export async function recognizeBrowser(ctx: Context, cookie: string | undefined, emailKey: string) {
  const browser = readCookie(ctx, cookie);
  const addressHash = addressHashOf(emailKey);
  const signIn = browser?.signIns.find((known) => known.addressHash === addressHash);
  if (!browser || !signIn) return undefined;
  const [account] = await store.findKnownAccount(ctx.db.read, {
    id: signIn.userId,
    email_key: emailKey,
    session_id: signIn.sessionId,
  });
  return account && browser.id;
}

/** The mailbox of an address: subaddresses such as `ada+shop@` belong to the same one. */
const mailboxOf = (emailKey: string): string => emailKey.replace(/\+.*@/s, '@');

/**
 * The rate limits of a requested mail. Responses report them only with a refusal: otherwise they would reveal
 * how many mails others request, or whether the browser is known.
 */
export const mailLimits = (emailKey: string, client: ClientInfo): RateLimitSubject[] => [
  { limit: 'mails_by_client', subject: addressKey(client.ipAddress) },
  { limit: 'mails_by_pair', subject: `${networkKey(client.ipAddress)} ${mailboxOf(emailKey)}` },
  { limit: 'mails_by_recipient', subject: mailboxOf(emailKey) },
];

/**
 * The rate limits of a mail for a browser that signed in with the address: strangers cannot exhaust them. The
 * second is for an account that makes many browsers known. A refusal looks as for an unknown one.
 */
export const mailByKnownBrowser = (emailKey: string, browser: string): RateLimitSubject[] => [
  {
    limit: 'mails_by_known_browser',
    subject: `${browser} ${mailboxOf(emailKey)}`,
    reportedAs: 'mails_by_pair',
  },
  {
    limit: 'mails_from_known_browsers',
    // Not its mailbox: who has another account there must not lock this one's browsers out.
    subject: emailKey,
    reportedAs: 'mails_by_recipient',
  },
];
