import type { Context } from '../../platform/context.ts';
import { decrypt, encrypt } from '../../platform/crypto/encryption.ts';
import { sha256 } from '../../platform/crypto/hash.ts';
import { knownBrowserTtlSeconds } from '../../platform/values/lifetimes.ts';
import * as store from './store.ts';

/** How many addresses a browser is known for. Signing in to one more forgets the oldest sign-in. */
export const maxKnownAddresses = 5;

// browser id 16 | for each address: its hash 16, user id 16, session id 16, end in milliseconds since 1970 6.
// Places that are free hold zeros, so the length does not tell how many addresses there are.
const idBytes = 16;
const endBytes = 6;
const entryBytes = 3 * idBytes + endBytes;
const sealLabel = 'known browser';
const sealPlace = 'cookie';
const idPrefix = { user: 'usr_', session: 'ses_' } as const;

/** The latest sign-in of a browser to an address. */
interface KnownLogin {
  readonly addressHash: Buffer;
  readonly userId: string;
  readonly sessionId: string;
  readonly endsAt: number;
}

interface KnownBrowser {
  /** Random; the same for as long as the browser keeps its cookie. */
  readonly id: Buffer;
  /** Newest first. */
  readonly logins: readonly KnownLogin[];
}

const addressHashOf = (emailKey: string): Buffer => sha256('known address', emailKey).subarray(0, idBytes);

const writeId = (bytes: Buffer, at: number, prefix: string, id: string): void =>
  void bytes.set(Buffer.from(id.slice(prefix.length), 'base64url'), at);

const readId = (bytes: Buffer, at: number, prefix: string): string =>
  prefix + bytes.subarray(at, at + idBytes).toString('base64url');

function encode({ id, logins }: KnownBrowser): Buffer {
  const bytes = Buffer.alloc(idBytes + maxKnownAddresses * entryBytes);
  bytes.set(id);
  for (const [index, login] of logins.entries()) {
    const at = idBytes + index * entryBytes;
    bytes.set(login.addressHash, at);
    writeId(bytes, at + idBytes, idPrefix.user, login.userId);
    writeId(bytes, at + 2 * idBytes, idPrefix.session, login.sessionId);
    bytes.writeUIntBE(login.endsAt, at + 3 * idBytes, endBytes);
  }
  return bytes;
}

/** The logins that have not ended by `now`; free places have ended long ago. */
function decode(bytes: Buffer, now: number): KnownBrowser {
  const logins: KnownLogin[] = [];
  for (let at = idBytes; at + entryBytes <= bytes.length; at += entryBytes) {
    logins.push({
      addressHash: bytes.subarray(at, at + idBytes),
      userId: readId(bytes, at + idBytes, idPrefix.user),
      sessionId: readId(bytes, at + 2 * idBytes, idPrefix.session),
      endsAt: bytes.readUIntBE(at + 3 * idBytes, endBytes),
    });
  }
  return { id: bytes.subarray(0, idBytes), logins: logins.filter(({ endsAt }) => endsAt > now) };
}

/** Reads a cookie; nothing where there is none, or its key is not in the ring. */
function open(ctx: Context, cookie: string | undefined): KnownBrowser | undefined {
  const opened = cookie === undefined ? undefined : decrypt(ctx.keys, sealLabel, sealPlace, cookie);
  return opened && decode(opened.secret, ctx.clock());
}

/** A login in a browser: the account, the key of its address, and the session. */
export interface BrowserLogin {
  readonly emailKey: string;
  readonly userId: string;
  readonly sessionId: string;
}

/**
 * The cookie by which a browser is known again as one that signed in to an address, beside the addresses that its
 * present cookie knows. Encrypted: nobody can read from it who signed in.
 */
export function rememberBrowser(ctx: Context, cookie: string | undefined, login: BrowserLogin): string {
  const present = open(ctx, cookie);
  const addressHash = addressHashOf(login.emailKey);
  const others = present?.logins.filter((other) => !other.addressHash.equals(addressHash)) ?? [];
  const latest = {
    addressHash,
    userId: login.userId,
    sessionId: login.sessionId,
    endsAt: ctx.clock() + knownBrowserTtlSeconds * 1000,
  };
  const logins = [latest, ...others].slice(0, maxKnownAddresses);
  const browser = { id: present?.id ?? ctx.random(idBytes), logins };
  return encrypt(ctx.keys, ctx.random, sealLabel, sealPlace, encode(browser));
}

/**
 * Names the browser that holds this cookie if it signed in to the address before, by a login that was neither stolen
 * nor disowned, to an account that still has the address. Runs a statement only where the cookie knows the address.
 */
export async function recognizeBrowser(
  ctx: Context,
  cookie: string | undefined,
  emailKey: string,
): Promise<string | undefined> {
  const browser = open(ctx, cookie);
  const addressHash = addressHashOf(emailKey);
  const login = browser?.logins.find((known) => known.addressHash.equals(addressHash));
  if (!browser || !login) return undefined;
  const [account] = await store.findKnownAccount(ctx.db.read, {
    id: login.userId,
    email_key: emailKey,
    session_id: login.sessionId,
  });
  return account && browser.id.toString('base64url');
}
