import { mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { inTime } from '../clock.ts';
import { type CredentialDocument, emptyDocument, type Storage } from '../credentials.ts';
import type { LatchkeyError } from '../errors.ts';
import { formatDocument, parseDocument } from './document.ts';
import { lockFile, withProcessLock } from './process-lock.ts';
import { type SecretItem, secretItem } from './secret-service.ts';
import { KeychainAbsent, LateError, type SessionBus } from './session-bus.ts';
import { storageFailed, systemReason } from './store-failure.ts';

/** The part of `@napi-rs/keyring` that is used. */
export interface Keyring {
  readonly AsyncEntry: new (service: string, account: string) => KeyringEntry;
}
interface KeyringEntry {
  getPassword(): Promise<string | null | undefined>;
  setPassword(password: string): Promise<void>;
}

export interface KeychainOptions {
  /** `() => import('@napi-rs/keyring')`. Not called on Linux, nor before the keychain is first used. */
  readonly load: () => Promise<Keyring>;
  /** Used on Linux only. */
  readonly sessionBus?: SessionBus;
  /** The name of the single entry that holds all logins. Default: `latchkey`. */
  readonly service?: string;
  /** Default: a directory of the user, independent of XDG_CONFIG_HOME. */
  readonly lockDirectory?: string;
}

export interface KeychainStorage extends Storage {
  /**
   * Why there is no keychain, or undefined if there is one. One that is locked or does not respond is there: reading it is
   * `store_failed`. Decided within 3 s; never throws.
   */
  whyAbsent(): Promise<string | undefined>;
}

/** Maximum time for the keychain to respond. */
export const keychainTimeLimitMs = 3_000;
/** A keychain that has just not responded is not asked again so soon. */
const pauseMs = 5_000;

const account = 'credentials';

/**
 * Keeps the credentials in the operating system's keychain, all logins in one entry. On Linux that is the Secret
 * Service only: the kernel's keyring would lose them at the next restart. Nothing is unlocked: a locked keychain is `store_failed`.
 * @example
 * const storage = keychainStorage({ load: () => import('@napi-rs/keyring') });
 */
export function keychainStorage({
  load,
  sessionBus = {},
  service = 'latchkey',
  lockDirectory,
}: KeychainOptions): KeychainStorage {
  const item =
    process.platform === 'linux'
      ? secretItem(sessionBus, keychainTimeLimitMs, service, { service, username: account })
      : nativeItem(load, service);
  let failed: { readonly error: LatchkeyError; readonly at: number } | undefined;

  const attempt = async <T>(verb: 'read' | 'written', work: () => Promise<T>): Promise<T> => {
    if (failed && performance.now() - failed.at < pauseMs) throw failed.error;
    try {
      return await work();
    } catch (cause) {
      const error = storageFailed(`The keychain cannot be ${verb}`, cause, 'keychain');
      if (cause instanceof LateError) failed = { error, at: performance.now() };
      throw error;
    }
  };

  const read = async (): Promise<CredentialDocument> => {
    const text = await attempt('read', item.read);
    return text?.trim() ? parseDocument(text, 'the keychain') : emptyDocument;
  };

  return {
    description: 'the keychain of the operating system',
    read,
    write: async (document) => {
      const text = formatDocument(document);
      // Throws if the stored document is damaged, so that it is not overwritten.
      await read();
      await attempt('written', () => item.write(text));
    },
    lock: async (name, work, options) => {
      let directory = lockDirectory;
      try {
        directory ??= defaultLockDirectory();
        await mkdir(directory, { recursive: true, mode: 0o700 });
      } catch (error) {
        throw storageFailed(`The directory ${directory ?? 'of the locks'} cannot be created`, error);
      }
      return withProcessLock(lockFile(join(directory, 'keychain'), `${service}\n${name}`), work, options);
    },
    whyAbsent: () =>
      attempt('read', item.read).then(
        () => undefined,
        ({ cause }: LatchkeyError) => (cause instanceof KeychainAbsent ? cause.message : undefined),
      ),
  };
}

/** The keychain of macOS and Windows. */
function nativeItem(load: KeychainOptions['load'], service: string): SecretItem {
  const inEntry = <T>(work: (entry: KeyringEntry) => Promise<T>): Promise<T> => {
    const done = load()
      .catch((error: unknown) => {
        throw new KeychainAbsent(systemReason(error));
      })
      .then(({ AsyncEntry }) => work(new AsyncEntry(service, account)));
    // The underlying call cannot be cancelled; it is only no longer waited for.
    return inTime(done, keychainTimeLimitMs, () => new LateError(keychainTimeLimitMs));
  };
  return {
    read: async () => (await inEntry((entry) => entry.getPassword())) ?? null,
    write: (text) => inEntry((entry) => entry.setPassword(text)),
  };
}

/** Shared by all processes of the user, like the keychain itself, whatever their XDG_CONFIG_HOME. */
function defaultLockDirectory(): string {
  const home = homedir();
  if (process.platform === 'win32') return join(home, 'AppData', 'Local', 'latchkey');
  if (process.platform === 'darwin') return join(home, 'Library', 'Application Support', 'latchkey');
  return join(home, '.local', 'state', 'latchkey');
}
