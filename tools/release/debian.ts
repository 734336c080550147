// Debian packages. They install the single file, its man page and its completions; that of the service also installs its
// systemd unit, its user and an empty file of settings.
// @see deb(5), deb-control(5)

import { chmod, mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { $ } from 'bun';
import type { ProgramFiles } from './program-files.ts';
import { server } from './programs.ts';

const root = join(import.meta.dir, '../..');
const maintainer = 'The Latchkey maintainers <maintainers@latchkey.invalid>';

/** Builds a package and returns its path. */
export async function buildDebianPackage(
  { program, version, files }: ProgramFiles,
  executable: string,
  architecture: string,
  target: string,
  compression: number,
): Promise<string> {
  const { name, section, summary } = program;
  const isServer = program === server;
  const tree = join(target, `.deb-${name}-${architecture}`);
  await rm(tree, { recursive: true, force: true });
  const put = async (path: string, content: string | Blob, mode = 0o644) => {
    await mkdir(dirname(join(tree, path)), { recursive: true });
    await Bun.write(join(tree, path), content);
    await chmod(join(tree, path), mode);
  };
  const documents = `usr/share/doc/${name}`;
  await put(`usr/bin/${name}`, Bun.file(executable), 0o755);
  await put(`usr/share/man/man${section}/${name}.${section}.gz`, zipped(files.manual));
  await put(`usr/share/bash-completion/completions/${name}`, files.completions.bash);
  await put(`usr/share/zsh/vendor-completions/_${name}`, files.completions.zsh);
  await put(`usr/share/fish/vendor_completions.d/${name}.fish`, files.completions.fish);
  await put(`${documents}/copyright`, `Copyright the Latchkey contributors.\n\n${await license()}`);
  await put(`${documents}/NOTICES.txt.gz`, zipped(files.notices));
  const installedKilobytes = (await $`du -sk ${tree}`.text()).split('\t')[0];
  await put(
    'DEBIAN/control',
    `Package: ${name}
Version: ${version.replace('-', '~')}
Architecture: ${architecture}
Maintainer: ${maintainer}
Installed-Size: ${installedKilobytes}
Depends: libc6${isServer ? ', passwd' : ''}
Section: ${isServer ? 'net' : 'utils'}
Priority: optional
Description: ${summary}
`,
  );
  if (isServer) await putService(put);
  const file = join(target, `${name}_${version}_${architecture}.deb`);
  // gzip, because xz takes a minute for each package and saves a tenth of the size of an installation.
  await $`dpkg-deb --root-owner-group -Zgzip -z${compression} --build ${tree} ${file}`.quiet();
  await rm(tree, { recursive: true });
  return file;
}

type Put = (path: string, content: string, mode?: number) => Promise<void>;

async function putService(put: Put): Promise<void> {
  const unit = await Bun.file(join(root, 'deploy/latchkey-server.service')).text();
  await put(
    'usr/lib/systemd/system/latchkey-server.service',
    unit.replaceAll('/usr/local/bin/', '/usr/bin/'),
  );
  await put('etc/latchkey/env', '# Settings of latchkey-server: NAME=value, one per line.\n', 0o640);
  await put('DEBIAN/conffiles', '/etc/latchkey/env\n');
  // `DPKG_ROOT` is the directory of a system that is not running.
  await put(
    'DEBIAN/postinst',
    `#!/bin/sh
set -e
[ "$1" = configure ] || exit 0
if [ -z "$DPKG_ROOT" ]; then
  getent passwd latchkey >/dev/null || useradd --system --user-group --home-dir /var/lib/latchkey --no-create-home \\
    --shell /usr/sbin/nologin latchkey
  install -d -m 700 -o latchkey -g latchkey /var/lib/latchkey
  chown root:latchkey /etc/latchkey /etc/latchkey/env
  chmod 750 /etc/latchkey
  chmod 640 /etc/latchkey/env
fi
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl try-restart latchkey-server
fi
[ -n "$2" ] || echo 'latchkey-server: add your settings to /etc/latchkey/env, then run: systemctl enable --now latchkey-server'
`,
    0o755,
  );
  await put(
    'DEBIAN/prerm',
    `#!/bin/sh
set -e
if [ "$1" = remove ] && [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
  systemctl disable --now latchkey-server
fi
`,
    0o755,
  );
}

const license = (): Promise<string> => Bun.file(join(root, 'LICENSE')).text();
const zipped = (content: string): Blob => new Blob([Bun.gzipSync(content)]);
