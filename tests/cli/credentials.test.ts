// Where the command line keeps credentials, and that its single executable shares them.

import { expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { latchkey, latchkeyProcess, loginAs, newHome, program, runIn, storeLogin } from '#support/cli.ts';
import { service } from '#support/common-service.ts';
import { hasSecretService, startFakeSecretService, startSecretService } from '#support/secret-service.ts';
import { temporaryDirectory } from '#support/service.ts';

test.skipIf(process.platform !== 'linux')(
  'a keychain that is locked is never taken for an absent login',
  async () => {
    const hello = { Hello: ['s', ':1.1'] } as const;
    const locked = await startFakeSecretService({ ...hello, SearchItems: ['aoao', [], ['/login/1']] });
    for (const LATCHKEY_CREDENTIALS of ['', 'keychain']) {
      const home = newHome({
        LATCHKEY_SERVER: service.url,
        LATCHKEY_CREDENTIALS,
        DBUS_SESSION_BUS_ADDRESS: locked.address,
      });
      for (const command of ['token', 'login', 'doctor']) {
        const { code, stdout, stderr } = await latchkey(home, command);
        expect([command, code]).toEqual([command, 4]);
        expect(stdout + stderr).toContain('The keychain cannot be read: it is locked.');
        expect(stdout + stderr).toContain('Start or unlock the keychain and try again');
      }
      expect(existsSync(home.credentialsFile)).toBe(false);
    }
    locked.stop();
    for (const command of ['whoami', 'doctor']) {
      const silent = await startFakeSecretService(hello);
      const home = newHome({ LATCHKEY_CREDENTIALS: '', DBUS_SESSION_BUS_ADDRESS: silent.address });
      const { code, stdout, stderr } = await latchkeyProcess(home, command);
      expect([code, stdout + stderr]).toEqual([4, expect.stringContaining('it did not respond within 3 s.')]);
      // It is waited for once.
      expect(silent.called.filter((method) => method === 'Hello')).toHaveLength(1);
      silent.stop();
    }
  },
);

/** A command with other mounts than this process has. */
const mounting = (...mounts: string[]) => [
  'bwrap',
  ...'--bind / / --dev-bind /dev /dev'.split(' '),
  ...mounts,
];
const canMount = Bun.which('bwrap') !== null && Bun.spawnSync(mounting('true')).success;

test.skipIf(!canMount)(
  'a home that is read-only and a file that is mounted by itself say what helps',
  async () => {
    const home = newHome({ LATCHKEY_SERVER: service.url });
    await storeLogin(home, service.url, 'mounted@example.com');
    const readOnly = mounting('--ro-bind', home.path, home.path);
    const elsewhere = join(temporaryDirectory(), 'credentials.json');
    await Bun.write(elsewhere, Bun.file(home.credentialsFile));
    const single = mounting('--bind', elsewhere, home.credentialsFile);
    for (const [mount, says] of [
      [readOnly, 'the file system is read-only.\nSet XDG_CONFIG_HOME to a directory that can be written'],
      [single, 'it is in use, or mounted as a single file.\nMount its directory in the place of the file'],
    ] as const) {
      const { code, stderr } = await runIn(home, [...mount, program, 'login']);
      expect([code, stderr]).toEqual([4, expect.stringContaining(says)]);
      expect((await runIn(home, [...mount, program, 'whoami'])).stdout).toContain('mounted@example.com');
    }
    const env = { ...home.env, XDG_CONFIG_HOME: temporaryDirectory() };
    const other = await runIn({ ...home, env }, [...readOnly, program, 'whoami']);
    expect([other.code, other.stderr]).toEqual([3, expect.stringContaining('Sign in with')]);
  },
);

test.skipIf(!hasSecretService)(
  'a single executable shares sessions in the keychain with the program',
  async () => {
    const file = process.env['LATCHKEY_TEST_CLI'] ?? join(temporaryDirectory(), 'latchkey');
    const build = join(import.meta.dir, '../../tools/release/single-file.ts');
    if (!existsSync(file))
      expect(await runIn(newHome(), [process.execPath, build, 'latchkey', file])).toMatchObject({ code: 0 });
    const keychain = await startSecretService(join(temporaryDirectory(), 'keyring'), 'password');
    const home = newHome({
      LATCHKEY_SERVER: service.url,
      LATCHKEY_CREDENTIALS: '',
      DBUS_SESSION_BUS_ADDRESS: keychain.address,
    });
    expect((await loginAs(home, service.url, 'keychain@example.com')).code).toBe(0);
    expect(existsSync(home.credentialsFile)).toBe(false);
    expect((await latchkey(home, 'whoami')).stdout).toContain('keychain@example.com');
    expect((await runIn(home, [file, 'whoami'])).stdout).toContain('keychain@example.com');
    const { stdout } = await runIn(home, [file, 'doctor', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ credentials: { kind: 'keychain' }, problems: [] });
    expect((await runIn(home, [file, 'logout'])).code).toBe(0);
    expect((await latchkey(home, 'token')).code).toBe(3);
  },
);
