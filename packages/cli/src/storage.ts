import type { FileStorage } from '@latchkey/client/file-storage';
import type { KeychainStorage } from '@latchkey/client/keychain-storage';
import type { Config } from './config.ts';
import { UsageError } from './exit.ts';

/** Where the credentials lie, and why there. */
export type Place =
  | { readonly kind: 'file'; readonly storage: FileStorage; readonly why: string }
  | { readonly kind: 'keychain'; readonly storage: KeychainStorage; readonly why: string };

/**
 * The keychain where there is one, else the file; `LATCHKEY_CREDENTIALS` decides otherwise.
 * @throws {UsageError} for a setting that names neither
 */
export async function openStorage(config: Config): Promise<Place> {
  const { credentials } = config;
  if (credentials !== undefined && credentials !== 'file' && credentials !== 'keychain') {
    throw new UsageError('LATCHKEY_CREDENTIALS must be file or keychain.', 'Correct it, or unset it.');
  }
  if (credentials === 'file') return inFile(config, 'LATCHKEY_CREDENTIALS says so');
  // Where no bus could answer, the keychain's code need not even be loaded.
  const { address, runtimeDirectory } = config.sessionBus;
  if (credentials === undefined && process.platform === 'linux' && !address && !runtimeDirectory) {
    return inFile(config, 'there is no keychain: this login has no D-Bus session');
  }
  const { keychainStorage } = await import('@latchkey/client/keychain-storage');
  const storage = keychainStorage({
    load: () => import('@napi-rs/keyring'),
    sessionBus: config.sessionBus,
  });
  if (credentials === 'keychain') return { kind: 'keychain', storage, why: 'LATCHKEY_CREDENTIALS says so' };
  const obstacle = await storage.whyUnavailable();
  if (obstacle !== undefined) return inFile(config, `the keychain cannot be used: ${obstacle}`);
  return { kind: 'keychain', storage, why: 'there is one' };
}

async function inFile(config: Config, why: string): Promise<Place> {
  const { fileStorage } = await import('@latchkey/client/file-storage');
  return { kind: 'file', storage: fileStorage(config.credentialsFile), why };
}
