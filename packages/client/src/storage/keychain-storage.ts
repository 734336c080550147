import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { inTime } from '../clock.ts';
import { type CredentialDocument, emptyDocument, type Storage } from '../credentials.ts';
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
  /** Used on Linux only. */
  readonly sessionBus?: SessionBus;
  /** The name of the single entry that holds all logins. Default: `latchkey`. */
  readonly service?: string;
  /** Default: a directory of the user, independent of XDG_CONFIG_HOME. */
  readonly lockDirectory?: string;
}

export interface KeychainStorage extends Storage {
  /** Why the keychain cannot be used, or undefined if it can. Decided within seconds; never throws. */
  whyUnavailable(): Promise<string | undefined>;
  /** Whether the keychain can be used. */
  available(): Promise<boolean>;
}

/** Maximum time for a person to unlock the keychain. */
export const keychainTimeLimitMilliseconds = 60_000;
/** Maximum time to find out whether there is a keychain. */
export const availabilityTimeLimitMilliseconds = 3_000;

const account = 'credentials';
const probeAccount = 'probe';

/**
 * Keeps the credentials in the operating system's keychain, all logins in one entry. On Linux that is the Secret
 * Service only: the kernel's keyring would lose them at the next restart.
 * @example
 * const storage = keychainStorage({ load: () => import('@napi-rs/keyring') });
 */
export function keychainStorage({
  load,
  sessionBus = {},
  service = 'latchkey',
  lockDirectory = defaultLockDirectory(),
}: KeychainOptions): KeychainStorage {
  const entry = async (name: string): Promise<KeyringEntry> => {
    if (process.platform === 'linux' && !(await busAnswers(sessionBus))) {
      throw new Error('no D-Bus session bus responds');
    }
    const { AsyncEntry } = await load();
    return new AsyncEntry(service, name, { linux: { store: 'secret-service' } });
  };

  const read = async (): Promise<CredentialDocument> => {
    const text = await attempt('read', async () => (await entry(account)).getPassword());
    return text?.trim() ? parseDocument(text, 'the keychain') : emptyDocument;
  };

  /** Some keychains fail only on writing, like one without a collection. */
  const probe = async (): Promise<void> => {
    if ((await (await entry(account)).getPassword()) !== null) return;
    const probeEntry = await entry(probeAccount);
    await probeEntry.setPassword('probe');
    await probeEntry.deleteCredential();
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
      // Throws if the stored document is damaged, so that it is not overwritten.
      await read();
      await attempt('written', async () => (await entry(account)).setPassword(text));
    },
    lock: async (name, work, options) => {
      try {
        await mkdir(lockDirectory, { recursive: true, mode: 0o700 });
      } catch (error) {
        throw storageFailed(`The directory ${lockDirectory} cannot be created`, error);
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
    throw storageFailed(`The keychain cannot be ${verb} (is it unlocked?)`, error, 'keychain');
  }
}

/** The underlying call cannot be cancelled; it is only no longer waited for. */
const withinLimit = <T>(promise: Promise<T>, milliseconds: number): Promise<T> =>
  inTime(promise, milliseconds, () => new Error(`it did not respond within ${milliseconds / 1000} s`));

/** Shared by all processes of the user, like the keychain itself, whatever their XDG_CONFIG_HOME. */
function defaultLockDirectory(): string {
  const home = homedir();
  if (process.platform === 'win32') return join(home, 'AppData', 'Local', 'latchkey');
  if (process.platform === 'darwin') return join(home, 'Library', 'Application Support', 'latchkey');
  return join(home, '.local', 'state', 'latchkey');
}
