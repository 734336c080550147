import { beforeEach, describe, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '#support/client.ts';
import { temporaryDirectory } from '#support/service.ts';
import { runtimes, startWorker, withoutRootsPowers } from '#support/worker.ts';
import { withProcessLock } from './process-lock.ts';

const worker = (command: readonly string[]) => startWorker(command, 'store-worker.ts');
let directory: string;
let file: string;
beforeEach(() => {
  directory = temporaryDirectory();
  file = join(directory, 'a.lock');
});

describe.each(runtimes)('a lock held by $name', ({ command }) => {
  test('is kept while its owner is suspended, waiting for it ends in lock_timeout, and the kernel releases it when its owner is killed', async () => {
    const owner = worker(command);
    expect(await owner.ask(['hold', file])).toBe('held');
    owner.signal('SIGSTOP');
    const waiter = worker(command);
    expect(await waiter.ask(['tryFor', file, 300])).toEqual({
      code: 'lock_timeout',
      message: `Another process has held ${file} for more than 0.3 s.`,
    });
    owner.signal('SIGCONT');
    expect(await waiter.ask(['tryFor', file, 0])).toMatchObject({ code: 'lock_timeout' });
    const waiting = waiter.ask(['tryFor', file, 10_000]);
    owner.signal('SIGKILL');
    await owner.exited;
    expect(readdirSync(directory)).toEqual(['a.lock']);
    expect(await waiting).toBe('had');
    expect(await waiter.finish()).toBe('');
  });

  test('excludes another part of the same process, which waits without blocking the event loop, and leaves an empty file', async () => {
    const one = worker(command);
    const { seen, ticks } = await one.ask(['twice', file]);
    expect([
      ['a in', 'a out', 'b in', 'b out'],
      ['b in', 'b out', 'a in', 'a out'],
    ]).toContainEqual(seen);
    expect(ticks).toBeGreaterThan(0);
    expect(readdirSync(directory)).toEqual(['a.lock']);
    expect([statSync(file).size, statSync(file).mode & 0o777]).toEqual([0, 0o600]);
    expect(await one.finish()).toBe('');
  });

  test.each([
    ['some text', 'abc'],
    ['a lot of text', 'rubbish '.repeat(10_000)],
    ['a damaged database', `SQLite format 3\0${'\xff'.repeat(5000)}`],
  ])(
    'works although its file contains %s, also if it was written while the lock is held',
    async (_, rubbish) => {
      const [owner, other] = [worker(command), worker(command)];
      await owner.ask(['hold', file]);
      // Also while it is held.
      writeFileSync(file, rubbish);
      expect(await other.ask(['tryFor', file, 100])).toMatchObject({ code: 'lock_timeout' });
      await owner.ask([]);
      expect(await other.ask(['tryFor', file, 1000])).toBe('had');
      expect(statSync(file).size).toBe(0);
    },
  );

  test('causes store_failed with the reason if its file cannot be created or written', async () => {
    const unprivileged = worker([...withoutRootsPowers, ...command]);
    mkdirSync(join(directory, 'closed'), { mode: 0o500 });
    const inClosed = join(directory, 'closed', 'a.lock');
    expect(await unprivileged.ask(['tryFor', inClosed, 0])).toEqual({
      code: 'store_failed',
      message: `The lock file ${inClosed} cannot be used: permission denied.`,
    });
    writeFileSync(file, '', { mode: 0o400 });
    expect(await unprivileged.ask(['tryFor', file, 0])).toMatchObject({ code: 'store_failed' });
    const inNothing = join(directory, 'nothing', 'a.lock');
    expect((await unprivileged.ask(['tryFor', inNothing, 0])).message).toEndWith(
      'the directory does not exist.',
    );
    const aDirectory = join(directory, 'closed');
    expect(await unprivileged.ask(['tryFor', aDirectory, 0])).toMatchObject({ code: 'store_failed' });
  });
});

test('only one of many processes, on Bun and on Node together, holds a lock at a time', async () => {
  const counter = join(directory, 'counter');
  writeFileSync(counter, '0');
  const commands = Array.from({ length: 6 }, (_, index) => runtimes[index % runtimes.length]!.command);
  const workers = commands.map(worker);
  const answers = await Promise.all(workers.map((one) => one.ask(['count', file, counter, 15])));
  expect(answers).toEqual(workers.map(() => 'counted'));
  expect(Number(readFileSync(counter, 'utf8'))).toBe(6 * 15);
  expect(await Promise.all(workers.map((one) => one.finish()))).toEqual(workers.map(() => ''));
});

test('a lock is released when the work fails, and the error is passed on', async () => {
  const failing = withProcessLock(file, () => Promise.reject(new Error('the work failed')));
  await expect(failing).rejects.toThrow('the work failed');
  expect(await withProcessLock(file, async () => 'had', { timeoutMs: 0 })).toBe('had');
});

test('an abort ends the wait, and the work does not start after it', async () => {
  const stop = new AbortController();
  let started = 0;
  const work = async () => {
    started++;
  };
  await withProcessLock(file, async () => {
    const waiting = withProcessLock(file, work, { signal: stop.signal });
    stop.abort();
    expect(await codeOf(waiting)).toBe('aborted');
  });
  expect(await codeOf(withProcessLock(file, work, { signal: stop.signal }))).toBe('aborted');
  expect(started).toBe(0);
});
