import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { type CredentialDocument, emptyDocument, type Storage } from './credentials.ts';
import { formatDocument, parseDocument } from './document.ts';
import { withProcessLock } from './process-lock.ts';
import { busAnswers, type SessionBus } from './session-bus.ts';
import { storageFailed } from './store-failure.ts';

/** The part of `@napi-rs/keyring` that is used. */
export interface Keyring {
  readonly AsyncEntry: new (
    service: string,
    account: string,
    options?: { linux?: { store?: 'secret-service' } },
  ) => KeyringEntry;
}
interface KeyringEntry {
  getPassword(): Promise<string | null>;
  setPassword(password: string): Promise<void>;
  deleteCredential(): Promise<boolean>;
}

export interface KeychainOptions {
  /** `() => import('@napi-rs/keyring')`. Called when the keychain is first used. */
  readonly load: () => Promise<Keyring>;
  /** Looked at on Linux only. */
  readonly sessionBus?: SessionBus;
  /** The name of the one entry that holds all logins. Default: `latchkey`. */
  readonly service?: string;
  /** Default: one of the user's that XDG_CONFIG_HOME does not move. */
  readonly lockDirectory?: string;
}

export interface KeychainStorage extends Storage {
  /** Why it cannot be used, in words, or undefined where it can. Decided in seconds, without an error. */
  whyUnavailable(): Promise<string | undefined>;
  /** Whether logins can be kept here. */
  available(): Promise<boolean>;
}

/** How long a person may take to unlock the keychain. */
export const keychainTimeLimitMilliseconds = 60_000;
/** How long it may take to find out whether there is one. */
export const availabilityTimeLimitMilliseconds = 3_000;

const account = 'credentials';
const probeAccount = 'probe';

/**
 * Keeps the credentials in the operating system's keychain, all logins in one entry. On Linux that is the Secret
 * Service and nothing else: the kernel's keyring would forget them.
 */
export function keychainStorage({
  load,
  sessionBus = {},
  service = 'latchkey',
  lockDirectory = defaultLockDirectory(),
}: KeychainOptions): KeychainStorage {
  const entry = async (name: string): Promise<KeyringEntry> => {
    if (process.platform === 'linux' && !(await busAnswers(sessionBus))) {
      throw new Error('no D-Bus session bus answers');
    }
    const { AsyncEntry } = await load();
    return new AsyncEntry(service, name, { linux: { store: 'secret-service' } });
  };

  const read = async (): Promise<CredentialDocument> => {
    const text = await attempt('read', async () => (await entry(account)).getPassword());
    return text?.trim() ? parseDocument(text, 'the keychain') : emptyDocument;
  };

  /** A keychain that is there but can keep nothing, like one without a collection, shows only when written to. */
  const probe = async (): Promise<void> => {
    if ((await (await entry(account)).getPassword()) !== null) return;
    const probed = await entry(probeAccount);
    await probed.setPassword('probe');
    await probed.deleteCredential();
  };

  const whyUnavailable = () =>
    withinLimit(probe(), availabilityTimeLimitMilliseconds).then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );

  return {
    description: 'the keychain of the operating system',
    read,
    write: async (document) => {
      const text = formatDocument(document);
      // What cannot be understood is not overwritten.
      await read();
      await attempt('written', async () => (await entry(account)).setPassword(text));
    },
    lock: async (name, work, options) => {
      try {
        await mkdir(lockDirectory, { recursive: true, mode: 0o700 });
      } catch (error) {
        throw storageFailed(`The directory ${lockDirectory} cannot be made`, error);
      }
      const hash = createHash('sha256').update(`${service}\n${name}`).digest('hex').slice(0, 16);
      return withProcessLock(join(lockDirectory, `keychain.${hash}.lock`), work, options);
    },
    whyUnavailable,
    available: async () => (await whyUnavailable()) === undefined,
  };
}

async function attempt<T>(verb: 'read' | 'written', work: () => Promise<T>): Promise<T> {
  try {
    return await withinLimit(work(), keychainTimeLimitMilliseconds);
  } catch (error) {
    throw storageFailed(`The keychain cannot be ${verb} (is it unlocked?)`, error);
  }
}

/** The call behind the promise cannot be taken back; it is only no longer waited for. */
async function withinLimit<T>(promise: Promise<T>, milliseconds: number): Promise<T> {
  const { promise: limit, reject } = Promise.withResolvers<never>();
  const late = new Error(`it did not answer within ${milliseconds / 1000} s`);
  const timer = setTimeout(reject, milliseconds, late);
  try {
    return await Promise.race([promise, limit]);
  } finally {
    clearTimeout(timer);
  }
}

/** As far-reaching as the keychain itself: all processes of the user, whatever their XDG_CONFIG_HOME. */
function defaultLockDirectory(): string {
  const home = homedir();
  if (process.platform === 'win32') return join(home, 'AppData', 'Local', 'latchkey');
  if (process.platform === 'darwin') return join(home, 'Library', 'Application Support', 'latchkey');
  return join(home, '.local', 'state', 'latchkey');
}
