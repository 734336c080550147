import { isAbsolute } from 'node:path';
import type { FileStorage } from '@latchkey/client/file-storage';
import type { KeychainStorage } from '@latchkey/client/keychain-storage';
import type { Config } from './config.ts';
import { UsageError } from './exit.ts';

/** Where the credentials are stored, and why there. */
export type Place =
  | { readonly kind: 'file'; readonly storage: FileStorage; readonly why: string }
  | { readonly kind: 'keychain'; readonly storage: KeychainStorage; readonly why: string };

/**
 * The keychain if there is one, otherwise the file; `LATCHKEY_CREDENTIALS` overrides this.
 * @throws {UsageError} for any other value of the setting, and for a relative `HOME`
 */
export async function openStorage(config: Config): Promise<Place> {
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
  requireAbsolute(config.home);
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
  requireAbsolute(config.credentialsFile);
  const { fileStorage } = await import('@latchkey/client/file-storage');
  return { kind: 'file', storage: fileStorage(config.credentialsFile), why };
}

/** With a relative home, every directory would get credentials of its own. */
function requireAbsolute(path: string): void {
  if (!isAbsolute(path))
    throw new UsageError('HOME must be an absolute path.', 'Set it to your home directory.');
}
