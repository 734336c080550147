// Runs the client's lock and storages in a separate process, under Bun or Node. Each line of standard input is a
// command in JSON, `[verb, …arguments]`; each response is a line of JSON.

import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { LatchkeyError } from '../../packages/client/src/errors.ts';
import { fileStorage } from '../../packages/client/src/storage/file-storage.ts';
import { keychainStorage } from '../../packages/client/src/storage/keychain-storage.ts';
import { withProcessLock } from '../../packages/client/src/storage/process-lock.ts';
import type { SessionBus } from '../../packages/client/src/storage/session-bus.ts';

/** The module that the command line depends on. */
const keyring = createRequire(new URL('../../packages/cli/package.json', import.meta.url));
const keychain = (sessionBus: SessionBus, lockDirectory: string) =>
  keychainStorage({ load: async () => keyring('@napi-rs/keyring'), sessionBus, lockDirectory });

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const answer = (value: unknown) => process.stdout.write(`${JSON.stringify(value)}\n`);

/** Holds a lock until the next line arrives. */
const holding = async () => {
  answer('held');
  await lines.next();
  return 'released';
};

// biome-ignore lint/suspicious/noExplicitAny: the test that sends the arguments knows their types
const verbs: Record<string, (...args: any[]) => Promise<unknown>> = {
  hold: (file: string) => withProcessLock(file, holding),
  tryFor: (file: string, timeoutMs: number) => withProcessLock(file, async () => 'had', { timeoutMs }),
  /** Increments the number in a file `times` times, slowly and without atomicity. */
  count: async (lock: string, counter: string, times: number) => {
    for (let i = 0; i < times; i++) {
      await withProcessLock(
        lock,
        async () => {
          const seen = Number(readFileSync(counter, 'utf8'));
          await pause(1);
          writeFileSync(counter, String(seen + 1));
        },
        { timeoutMs: 60_000 },
      );
    }
    return 'counted';
  },
  /** Two tasks of this process that compete for one lock: what they saw of each other, and whether timers ran. */
  twice: async (file: string) => {
    const seen: string[] = [];
    let ticks = 0;
    const timer = setInterval(() => ticks++, 5);
    const enter = (name: string) =>
      withProcessLock(file, async () => {
        seen.push(`${name} in`);
        await pause(100);
        seen.push(`${name} out`);
      });
    await Promise.all([enter('a'), enter('b')]);
    clearInterval(timer);
    return { seen, ticks };
  },
  read: (path: string) => fileStorage(path).read(),
  write: (path: string, document) => fileStorage(path).write(document),
  lockStorage: (path: string, timeoutMs?: number) =>
    fileStorage(path).lock('document', async () => 'had', { timeoutMs }),
  holdStorage: (path: string) => fileStorage(path).lock('document', holding),
  check: (path: string) => fileStorage(path).check(),
  whyAbsent: (...place: Parameters<typeof keychain>) => keychain(...place).whyAbsent(),
  readKeychain: (...place: Parameters<typeof keychain>) => keychain(...place).read(),
  writeKeychain: (bus: SessionBus, locks: string, document) => keychain(bus, locks).write(document),
  /** Writes text to the keychain as another program might. */
  plantInKeychain: async (text: string) =>
    new (keyring('@napi-rs/keyring').Entry)('latchkey', 'credentials').setPassword(text),
  lockKeychain: (bus: SessionBus, locks: string, timeoutMs?: number) =>
    keychain(bus, locks).lock('document', async () => 'had', { timeoutMs }),
};

for (;;) {
  const { value: line, done } = await lines.next();
  if (done) break;
  const [verb, ...args] = JSON.parse(line);
  try {
    answer((await verbs[verb]!(...args)) ?? null);
  } catch (error) {
    if (!(error instanceof LatchkeyError)) throw error;
    answer({ code: error.code, message: error.message });
  }
}
