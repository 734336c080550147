import { describe, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeAtExit } from '../../../../tests/support/cleanup.ts';
import { hasSecretService, startSecretService } from '../../../../tests/support/secret-service.ts';
import { runtimes, startWorker } from '../../../../tests/support/worker.ts';
import { type Keyring, keychainStorage } from './keychain-storage.ts';
import { socketsOf } from './session-bus.ts';

const login = {
  server: 'https://a.example',
  user: { id: 'usr_1', email: 'ada@example.com' },
  logged_in_at: '2026-01-01T00:00:00.000Z',
  access_token: 'lk_at_secret',
  access_token_expires_at: 1,
  access_token_lifetime_seconds: 14_400,
  refresh_token: 'lk_rt_secret',
  idempotency_key: 'key',
};
const logins = { current: 'ada@example.com', logins: { 'ada@example.com': login } };
const document = { version: 1, current_server: login.server, servers: { [login.server]: logins } } as const;
const empty = { version: 1, current_server: null, servers: {} } as const;

const base = mkdtempSync(join(tmpdir(), 'latchkey-keychain-'));
removeAtExit(base);
const fresh = (name: string) => mkdtempSync(join(base, `${name}-`));
const deadline = () => Date.now() + 10_000;

describe.skipIf(!hasSecretService).each(runtimes)(
  'credentials in a real Secret Service (needs gnome-keyring and dbus-daemon), on $name',
  ({ command }) => {
    const client = (address: string) => {
      const locks = fresh('locks');
      const worker = startWorker(
        ['env', `DBUS_SESSION_BUS_ADDRESS=${address}`, ...command],
        'store-worker.ts',
      );
      return {
        locks,
        ask: (verb: string, ...args: unknown[]) => worker.ask([verb, { address }, locks, ...args]),
        plant: (text: string) => worker.ask(['plantInKeychain', text]),
        finish: worker.finish,
      };
    };
    /** Resolves once the service has registered its name on the bus. */
    const ready = async (address: string) => {
      const { ask } = client(address);
      for (const end = deadline(); (await ask('whyUnavailable')) !== null; await Bun.sleep(20)) {
        if (Date.now() > end) throw new Error(await ask('whyUnavailable'));
      }
    };

    test('survive a restart of the keychain, and have a lock of their own', async () => {
      const home = fresh('home');
      const first = await startSecretService(home, 'password');
      await ready(first.address);
      const one = client(first.address);
      expect(await one.ask('readKeychain')).toEqual(empty);
      await one.ask('writeKeychain', document);
      expect(await one.ask('readKeychain')).toEqual(document);
      expect(await one.ask('whyUnavailable')).toBeNull();
      expect(await one.ask('lockKeychain', 0)).toBe('had');
      expect(readdirSync(one.locks)).toEqual([expect.stringMatching(/^keychain\.[0-9a-f]{16}\.lock$/)]);
      expect(await one.finish()).toBe('');
      await first.stop();

      const second = await startSecretService(home, 'password');
      await ready(second.address);
      expect(await client(second.address).ask('readKeychain')).toEqual(document);
      await second.stop();
    });

    test('that are damaged cause store_corrupt, and are left unchanged', async () => {
      const service = await startSecretService(fresh('home'), 'password');
      await ready(service.address);
      const one = client(service.address);
      await one.plant('{"lk_rt_secret');
      for (const verb of ['writeKeychain', 'readKeychain']) {
        const { code, message } = await one.ask(verb, document);
        expect(code).toBe('store_corrupt');
        expect(message).toStartWith('The credentials in the keychain are damaged: not valid JSON.');
      }
      await service.stop();
    });

    test('cause store_failed while the keychain is locked', async () => {
      const home = fresh('home');
      const first = await startSecretService(home, 'password');
      await ready(first.address);
      await client(first.address).ask('writeKeychain', document);
      await first.stop();

      const locked = await startSecretService(home);
      const one = client(locked.address);
      let answer = await one.ask('readKeychain');
      // There is nothing to unlock until the service has registered its name.
      for (const end = deadline(); /ServiceUnknown|not provided/.test(answer.message); ) {
        if (Date.now() > end) break;
        await Bun.sleep(20);
        answer = await one.ask('readKeychain');
      }
      expect(answer.code).toBe('store_failed');
      expect(answer.message).toStartWith('The keychain cannot be read (is it unlocked?): ');
      expect(await one.ask('whyUnavailable')).toBeString();
      await locked.stop();
    });

    test('are reported as unavailable when the bus or the service hangs', async () => {
      const service = await startSecretService(fresh('home'), 'password');
      await ready(service.address);
      const one = client(service.address);
      service.signalService('SIGSTOP');
      expect(await one.ask('whyUnavailable')).toBeString();
      service.signalService('SIGCONT');
      expect(await one.ask('whyUnavailable')).toBeNull();
      service.signalBus('SIGSTOP');
      expect(await one.ask('whyUnavailable')).toBe('no D-Bus session bus responds');
      expect(await one.ask('readKeychain')).toEqual({
        code: 'store_failed',
        message: 'The keychain cannot be read (is it unlocked?): no D-Bus session bus responds.',
      });
      service.signalBus('SIGCONT');
      expect(await one.ask('whyUnavailable')).toBeNull();
      await service.stop();
    });
  },
);

test.skipIf(process.platform !== 'linux')(
  'the native module is not loaded without a session bus',
  async () => {
    let loaded = 0;
    const load = async (): Promise<Keyring> => {
      loaded++;
      throw new Error('unreachable');
    };
    const nowhere = join(base, 'nowhere');
    for (const sessionBus of [{}, { address: `unix:path=${nowhere}` }, { runtimeDirectory: nowhere }]) {
      const storage = keychainStorage({ load, sessionBus });
      expect(await storage.whyUnavailable()).toBe('no D-Bus session bus responds');
      expect(await storage.available()).toBe(false);
      expect(storage.read()).rejects.toMatchObject({ code: 'store_failed' });
    }
    expect(loaded).toBe(0);
  },
);

test('session bus addresses are parsed into socket paths', () => {
  expect(socketsOf({})).toEqual([]);
  expect(socketsOf({ runtimeDirectory: '/run/user/1' })).toEqual(['/run/user/1/bus']);
  expect(socketsOf({ address: 'unix:path=/a%20b,guid=1;tcp:host=x', runtimeDirectory: '/r' })).toEqual([
    '/a b',
  ]);
  expect(socketsOf({ address: 'unix:abstract=/tmp/x,guid=1;unix:guid=2,path=/y' })).toEqual([
    '\0/tmp/x',
    '/y',
  ]);
  expect(socketsOf({ address: 'unix:path=/a+b&c=d' })).toEqual(['/a+b&c=d']);
  expect(socketsOf({ address: 'unix:path=%' })).toEqual(['%']);
});
