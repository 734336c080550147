import { describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { closeAtTestEnd, spawn } from '#support/cleanup.ts';
import { hasSecretService, startFakeSecretService, startSecretService } from '#support/secret-service.ts';
import { temporaryDirectory } from '#support/service.ts';
import { document, empty } from '#support/stored-document.ts';
import { runtimes, startWorker } from '#support/worker.ts';
import { type Keyring, keychainStorage } from './keychain-storage.ts';
import { socketsOf } from './session-bus.ts';

describe.skipIf(!hasSecretService).each(runtimes)(
  'credentials in a real Secret Service (needs gnome-keyring and dbus-daemon), on $name',
  ({ command }) => {
    const client = (address: string) => {
      const locks = temporaryDirectory();
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
    test('survive a restart of the keychain and have a lock of their own; damaged or locked ones are left unchanged', async () => {
      const home = temporaryDirectory();
      const first = await startSecretService(home, 'password');
      const one = client(first.address);
      expect(await one.ask('readKeychain')).toEqual(empty);
      await one.ask('writeKeychain', document);
      expect(await one.ask('readKeychain')).toEqual(document);
      expect(await one.ask('whyAbsent')).toBeNull();
      expect(await one.ask('lockKeychain', 0)).toBe('had');
      expect(readdirSync(one.locks)).toEqual([expect.stringMatching(/^keychain\.[0-9a-f]{16}\.lock$/)]);
      expect(await one.finish()).toBe('');
      await first.stop();

      const locked = await startSecretService(home);
      const refused = client(locked.address);
      const message = 'The keychain cannot be read: it is locked.';
      for (const verb of ['readKeychain', 'writeKeychain'])
        expect(await refused.ask(verb, document)).toEqual({ code: 'store_failed', message });
      expect(await refused.ask('whyAbsent')).toBeNull();
      await locked.stop();

      const second = await startSecretService(home, 'password');
      const again = client(second.address);
      expect(await again.ask('readKeychain')).toEqual(document);
      await again.plant('{"lk_rt_secret');
      for (const verb of ['writeKeychain', 'readKeychain']) {
        const { code, message } = await again.ask(verb, document);
        expect(code).toBe('store_corrupt');
        expect(message).toStartWith('The credentials in the keychain are damaged: not valid JSON.');
      }
      await second.stop();
    });
  },
);

describe.skipIf(process.platform !== 'linux')('a keychain', () => {
  type Answers = Parameters<typeof startFakeSecretService>[0];
  const load = async (): Promise<Keyring> => Promise.reject(new Error('loaded'));
  const hello = { Hello: ['s', ':1.1'] } as const;
  const session = { OpenSession: ['vo', ['s', ''], '/session'] } as const;
  const unlocked = { ReadAlias: ['o', '/login'], Get: ['v', ['b', false]] } as const;
  const noItem = { SearchItems: ['aoao', [], []] } as const;
  const anItem = { SearchItems: ['aoao', ['/login/1'], []] } as const;
  const storageAt = async (answers: Answers) => {
    const fake = await startFakeSecretService(answers);
    closeAtTestEnd(async () => fake.stop());
    const sessionBus = { address: fake.address };
    return { fake, storage: keychainStorage({ load, sessionBus, lockDirectory: temporaryDirectory() }) };
  };
  const failure = (why: string) => ({
    code: 'store_failed',
    obstacle: 'keychain',
    message: `The keychain cannot be ${why}.`,
  });
  const locked = 'org.freedesktop.Secret.Error.IsLocked';

  test('that does not respond, at whatever step, is there, and fails in time', async () => {
    const steps: Answers[] = [
      'silent',
      {},
      hello,
      { ...hello, ...noItem },
      { ...hello, ...noItem, ReadAlias: ['o', '/login'] },
      { ...hello, ...anItem },
      { ...hello, ...anItem, ...session },
    ];
    const outcomes = steps.map(async (answers) => {
      const { storage } = await storageAt(answers);
      expect(await storage.whyAbsent()).toBeUndefined();
      const late = failure('read: it did not respond within 3 s');
      await expect(storage.read()).rejects.toMatchObject(late);
    });
    await Promise.all(outcomes);
  });

  test('that does not respond holds no process', async () => {
    const { fake } = await storageAt(hello);
    const outcomes = runtimes.map(async ({ command }) => {
      const worker = startWorker(command, 'store-worker.ts');
      const answer = await worker.ask(['readKeychain', { address: fake.address }, temporaryDirectory()]);
      expect(answer.message).toBe('The keychain cannot be read: it did not respond within 3 s.');
      expect(await worker.finish()).toBe('');
    });
    await Promise.all(outcomes);
  });

  const noLength = { SearchItems: ['a()', Buffer.of(0)] } as const;
  const itsPrompt = { CreateItem: ['oo', '/', '/prompt'] } as const;
  test.each<[string, Answers, string]>([
    ['is locked, with an item', { ...hello, SearchItems: ['aoao', [], ['/login/1']] }, 'read: it is locked'],
    [
      'is locked while it is read',
      { ...hello, ...anItem, ...session, GetSecret: locked },
      'read: it is locked',
    ],
    [
      'is locked, without an item',
      { ...hello, ...noItem, ...unlocked, Get: ['v', ['b', true]] },
      'read: it is locked',
    ],
    ['sends values of no length', { ...hello, ...noLength }, 'read: it sent values of no length'],
    [
      'would ask before it stores an item',
      { ...hello, ...noItem, ...unlocked, ...session, ...itsPrompt },
      'written: it is locked',
    ],
  ])('that %s is there, fails, and is not unlocked', async (_, answers, why) => {
    const { fake, storage } = await storageAt(answers);
    expect(await storage.whyAbsent()).toBeUndefined();
    await expect(storage.write(document)).rejects.toMatchObject(failure(why));
    if (why.startsWith('read')) await expect(storage.read()).rejects.toMatchObject(failure(why));
    expect(fake.called.filter((method) => /Unlock|Prompt/.test(method))).toEqual([]);
  });

  test.each<[string, Answers, string]>([
    ['whose bus refuses this process', 'refused', 'the D-Bus session bus does not accept this process'],
    [
      'that nobody provides',
      { ...hello, SearchItems: 'org.freedesktop.DBus.Error.ServiceUnknown' },
      'no Secret Service runs',
    ],
    ['without a collection', { ...hello, ...noItem, ReadAlias: ['o', '/'] }, 'it has no default collection'],
  ])('%s is absent', async (_, answers, why) => {
    const { storage } = await storageAt(answers);
    expect(await storage.whyAbsent()).toBe(why);
  });

  test('without a session bus is absent, and fails', async () => {
    const nowhere = join(temporaryDirectory(), 'nowhere');
    for (const sessionBus of [{}, { address: `unix:path=${nowhere}` }, { runtimeDirectory: nowhere }]) {
      const storage = keychainStorage({ load, sessionBus });
      expect(await storage.whyAbsent()).toBe('no D-Bus session bus responds');
      await expect(storage.read()).rejects.toMatchObject({ code: 'store_failed' });
    }
  });

  test('with a session bus that closes at once is there, and fails', async () => {
    const path = join(temporaryDirectory(), 'bus');
    const closing = `require('node:net').createServer((socket) => socket.destroy()).listen(process.argv[1], () => console.log())`;
    const bus = spawn([process.execPath, '-e', closing, path], { stdout: 'pipe' });
    await bus.stdout.getReader().read();
    for (let n = 0; n < 30; n++) {
      const storage = keychainStorage({ load, sessionBus: { address: `unix:path=${path}` } });
      expect(await storage.whyAbsent()).toBeUndefined();
      await expect(storage.read()).rejects.toMatchObject(failure('read: it closed the connection'));
    }
  });
});

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
