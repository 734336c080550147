// What a release publishes besides the packages for npm, built for this machine.

import { beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { $ } from 'bun';
import { newHome } from '#support/cli.ts';
import { followInstalling } from '#support/guides.ts';
import { temporaryDirectory } from '#support/service.ts';
import cli from '../../packages/cli/package.json' with { type: 'json' };
import { buildRelease } from '../../tools/release/build.ts';
import { programs } from '../../tools/release/programs.ts';
import { withRelease, withVersion } from '../../tools/release/release.ts';
import { withKeychain } from '../../tools/release/single-file.ts';
import { hostTarget } from '../../tools/release/targets.ts';

const { version } = cli;
const directory = temporaryDirectory();
const host = hostTarget();

const unpacked = (name: string): string => join(directory, `${name}-${version}-${host?.name}`);

describe.skipIf(!host)(
  host ? 'a release' : 'a release: skipped, because Bun has no single files here',
  () => {
    beforeAll(async () => {
      await buildRelease({ directory, targets: [host!], compression: 1, say: () => {} });
      for (const { name } of programs) await $`tar -xzf ${unpacked(name)}.tar.gz`.cwd(directory);
    });

    test('has a checksum for every file', async () => {
      const listed = (await Bun.file(join(directory, 'SHA256SUMS')).text()).trim().split('\n');
      const names = readdirSync(directory).filter((name) => statSync(join(directory, name)).isFile());
      expect(listed.length).toBe(names.length - 1);
      const checked = await $`sha256sum --check --quiet SHA256SUMS`.cwd(directory).nothrow();
      expect([checked.exitCode, checked.stdout.toString()]).toEqual([0, '']);
    });

    describe.each([...programs])('$name', (program) => {
      const { name, section } = program;

      test('is an executable that starts', async () => {
        const executable = join(unpacked(name), name);
        expect(await $`${executable} --version`.env({ PATH: '/bin' }).text()).toBe(`${version}\n`);
      });

      test('has a man page with every command and option, which groff accepts', async () => {
        const page = await Bun.file(join(unpacked(name), `${name}.${section}`)).text();
        const plain = page.replaceAll('\\-', '-');
        const visit = (command: ReturnType<typeof program.commands>) => {
          for (const child of command.commands) {
            expect(plain).toContain(child.name());
            for (const { flags } of child.options) expect(plain).toContain(flags);
            visit(child);
          }
        };
        visit(program.commands());
        if (!Bun.which('groff')) return;
        const complaints =
          await $`groff -man -ww -z ${join(unpacked(name), `${name}.${section}`)} 2>&1`.text();
        expect(complaints).toBe('');
      });

      test('has completions that bash accepts and that know its commands', async () => {
        const script = join(unpacked(name), 'completions', `${name}.bash`);
        const words = `COMP_LINE='${name} ' COMP_POINT=${name.length + 1}`;
        const shellFunction = `_${name.replace('-', '_')}`;
        const out =
          await $`bash -c ${`source ${script}; ${words}; ${shellFunction}; echo "\${COMPREPLY[@]}"`}`.text();
        for (const command of program.commands().commands) expect(out).toContain(command.name());
      });

      test('has a bill of materials with everything that its notices name', async () => {
        const bill = await Bun.file(`${unpacked(name)}.cdx.json`).json();
        expect(bill).toMatchObject({
          bomFormat: 'CycloneDX',
          specVersion: '1.6',
          metadata: { component: { name } },
        });
        const notices = await Bun.file(join(unpacked(name), 'NOTICES.txt')).text();
        const components: Record<'name' | 'version' | 'bom-ref', string>[] = bill.components;
        const listed = components.map((one) => `${one.name} ${one.version}`);
        for (const one of listed) expect(notices).toContain(one);
        expect(listed).toContain(`bun ${Bun.version}`);
        expect(listed.some((one) => one.startsWith('commander '))).toBe(true);
        expect(new Set(components.map((one) => one['bom-ref'])).size).toBe(listed.length);
      });
    });

    test('has archives that lead to a first sign-in, as in the guide', async () => {
      const home = newHome();
      const env = { ...home.env, PATH: `${join(home.path, '.local/bin')}:/usr/bin:/bin` };
      for (const name of readdirSync(directory).filter((one) => one.endsWith('.tar.gz')))
        symlinkSync(join(directory, name), join(home.path, name));
      const printed = await followInstalling({ ...home, env }, /^for archive/, { 'linux-x64': host!.name });
      expect(printed).toMatch(/^new <new@example\.com> at http:\/\/localhost:\d+\n$/m);
    });
  },
);

test('a single file contains the keychain of its own platform, and no other one that is installed here', async () => {
  const folder = temporaryDirectory();
  const keychain = join(folder, '@napi-rs+keyring-linux-x64-musl@2.1.2');
  await Bun.write(join(keychain, 'keyring.linux-x64-musl.node'), 'library');
  const { outputs } = await Bun.build({
    entrypoints: [Bun.resolveSync('@napi-rs/keyring', join(import.meta.dir, '../../packages/cli'))],
    target: 'bun',
    outdir: join(folder, 'out'),
    plugins: [withKeychain(keychain)],
  });
  const libraries = outputs.map(({ path }) => path).filter((path) => path.endsWith('.node'));
  expect(libraries).toEqual([expect.stringContaining('keyring.linux-x64-musl')]);
});

test('a release sets the version of each package and of what it needs from this repository', () => {
  const manifest =
    '{\n  "version": "0.1.0",\n  "dependencies": {\n    "@latchkey/contract": "0.1.0",\n    "zod": "0.1.0"\n  }\n}';
  expect(JSON.parse(withVersion(manifest, '0.2.0'))).toEqual({
    version: '0.2.0',
    dependencies: { '@latchkey/contract': '0.2.0', zod: '0.1.0' },
  });
  const changelog = '# Changelog\n\n## Unreleased (0.2.0)\n\n- Entry.\n';
  expect(withRelease(changelog, '0.2.0', '2026-11-22')).toBe(
    '# Changelog\n\n## 0.2.0 (2026-11-22)\n\n- Entry.\n',
  );
  expect(() => withRelease('# Changelog\n', '0.2.0', '2026-11-22')).toThrow('no entries');
});
