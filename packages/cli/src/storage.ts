import { isAbsolute } from 'node:path';
import type { FileStorage } from '@latchkey/client/file-storage';
import type { KeychainStorage } from '@latchkey/client/keychain-storage';
import type { Config } from './config.ts';
import { UsageError } from './exit.ts';

/** Where the credentials are stored, and why there. */
export type Place =
  | { readonly kind: 'file'; readonly storage: FileStorage; readonly why: string }
  | { readonly kind: 'keychain'; readonly storage: KeychainStorage; readonly why: string };

const places = new WeakMap<Config, Promise<Place>>();

/**
 * The keychain if there is one, otherwise the file; `LATCHKEY_CREDENTIALS` overrides this. Decided once for each command, because a
 * keychain may take its time.
 * @throws {UsageError} for any other value of the setting; using the place, where there is no home directory or `HOME` is relative
 */
export function openStorage(config: Config): Promise<Place> {
  const place = places.get(config) ?? choosePlace(config);
  places.set(config, place);
  return place;
}

async function choosePlace(config: Config): Promise<Place> {
  const { credentials } = config;
  if (credentials !== undefined && credentials !== 'file' && credentials !== 'keychain') {
    throw new UsageError('LATCHKEY_CREDENTIALS must be file or keychain.', 'Correct or unset it.');
  }
  if (credentials === 'file') return inFile(config, 'LATCHKEY_CREDENTIALS says so');
  // Without a bus the keychain's code need not even be loaded.
  const { address, runtimeDirectory } = config.sessionBus;
  if (credentials === undefined && process.platform === 'linux' && !address && !runtimeDirectory) {
    return inFile(config, 'there is no keychain: no D-Bus session is running');
  }
  if (!isAbsolute(config.home)) return nowhere(config);
  const { keychainStorage } = await import('@latchkey/client/keychain-storage');
  const storage = keychainStorage({
    load: () => import('@napi-rs/keyring'),
    sessionBus: config.sessionBus,
  });
  if (credentials === 'keychain') return { kind: 'keychain', storage, why: 'LATCHKEY_CREDENTIALS says so' };
  const absence = await storage.whyAbsent();
  if (absence !== undefined) return inFile(config, `there is no keychain: ${absence}`);
  return { kind: 'keychain', storage, why: 'there is one' };
}

async function inFile(config: Config, why: string): Promise<Place> {
  if (!isAbsolute(config.credentialsFile)) return nowhere(config);
  const { fileStorage } = await import('@latchkey/client/file-storage');
  return { kind: 'file', storage: fileStorage(config.credentialsFile), why };
}

/** Whatever needs what is stored fails. With a relative home, every directory would get credentials of its own. */
function nowhere({ home }: Config): Place {
  const fail = () => Promise.reject(home === '' ? withoutHome() : withRelativeHome());
  const storage = { description: 'nowhere', read: fail, write: fail, lock: fail, check: fail };
  return { kind: 'file', storage, why: 'there is no home directory' };
}

const withRelativeHome = () =>
  new UsageError('HOME must be an absolute path.', 'Set it to your home directory.');

const withoutHome = () =>
  new UsageError(
    'There is no home directory to store credentials in: HOME is not set, and this user has no entry in the password file.',
    'Set HOME or XDG_CONFIG_HOME, or use LATCHKEY_TOKEN.',
  );
