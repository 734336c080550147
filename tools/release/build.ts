// `npm run release:build [-- --target NAME]`: builds everything that a release publishes into dist/release, and starts
// what can run here.

import { createHash } from 'node:crypto';
import { chmod, copyFile, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { $ } from 'bun';
import { billOfMaterials } from './bill-of-materials.ts';
import { buildPackages } from './packages.ts';
import { type ProgramFiles, programFiles } from './program-files.ts';
import { type Program, programs, server } from './programs.ts';
import { buildSingleFile } from './single-file.ts';
import { hostTarget, type Target, targets } from './targets.ts';

const root = join(import.meta.dir, '../..');

/** Measured: 93 to 122 MB, of which Bun is nearly all. */
const maxExecutableMegabytes = 125;
/** Measured: 42 to 56 MB; at the lowest compression up to 61. */
const maxArchiveMegabytes = 65;

export interface ReleaseOptions {
  readonly directory: string;
  /** Default: all. */
  readonly targets?: readonly Target[];
  /** Of gzip, from 1 to 9. */
  readonly compression?: number;
  readonly say: (line: string) => void;
}

/** Builds the release into the directory. */
export async function buildRelease(options: ReleaseOptions): Promise<void> {
  const { directory, targets: chosen = targets, say } = options;
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  for (const program of programs) {
    for (const target of chosen) {
      say(`${program.name} for ${target.name}`);
      await buildForTarget(program, target, options);
    }
  }
  say('packages for npm');
  const packages = join(directory, '.packages');
  for (const archive of await buildPackages(packages)) {
    await rename(archive, join(directory, `npm-${basename(archive)}`));
  }
  await rm(packages, { recursive: true });
  await writeChecksums(directory);
}

/** The archive and the bill of materials of a program for one platform. */
async function buildForTarget(
  program: Program,
  target: Target,
  { directory, compression = 6, say }: ReleaseOptions,
): Promise<void> {
  const executable = join(directory, `.${program.name}-${target.name}`);
  const packages = await buildSingleFile(program, executable, target);
  await chmod(executable, 0o755);
  const megabytes = await requireSize(executable, maxExecutableMegabytes);
  const files = await programFiles(program, packages);
  if (hostTarget()?.name === target.name) {
    const printed = (await $`${executable} --version`.text()).trim();
    if (printed !== files.version) throw new Error(`${program.name} printed ${printed} as its version`);
  } else {
    say('  not started: it does not run on this machine');
  }
  const name = archiveName(files, target);
  await writeArchive(files, executable, join(directory, name), compression);
  const compressed = await requireSize(join(directory, `${name}.tar.gz`), maxArchiveMegabytes);
  say(`  ${megabytes} MB, compressed ${compressed} MB`);
  const bill = await billOfMaterials(program, files.version, packages);
  await Bun.write(join(directory, `${name}.cdx.json`), bill);
  await rm(executable);
}

/** The size of a file in megabytes. @throws {Error} if it is larger than released files may be */
async function requireSize(file: string, maxMegabytes: number): Promise<string> {
  const megabytes = (await stat(file)).size / 1e6;
  if (megabytes <= maxMegabytes) return megabytes.toFixed(0);
  throw new Error(`${basename(file)} has ${megabytes.toFixed(0)} MB, and may have ${maxMegabytes}`);
}

const archiveName = ({ program, version }: ProgramFiles, target: Target): string =>
  `${program.name}-${version}-${target.name}`;

async function writeArchive(
  { program, files }: ProgramFiles,
  executable: string,
  folder: string,
  compression: number,
): Promise<void> {
  await mkdir(join(folder, 'completions'), { recursive: true });
  const write = (path: string, content: string) => Bun.write(join(folder, path), content);
  await copyFile(executable, join(folder, program.name));
  await write(`${program.name}.${program.section}`, files.manual);
  await write(`completions/${program.name}.bash`, files.completions.bash);
  await write(`completions/_${program.name}`, files.completions.zsh);
  await write(`completions/${program.name}.fish`, files.completions.fish);
  await write('NOTICES.txt', files.notices);
  await copyFile(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  if (program === server) {
    const unit = 'latchkey-server@.service';
    await copyFile(join(root, 'deploy', unit), join(folder, unit));
  }
  const name = basename(folder);
  await $`tar -cf - ${name} | gzip -${compression} > ${name}.tar.gz`.cwd(dirname(folder));
  await rm(folder, { recursive: true });
}

async function writeChecksums(directory: string): Promise<void> {
  const names = (await readdir(directory)).sort();
  const lines = await Promise.all(
    names.map(async (name) => `${await sha256(join(directory, name))}  ${name}\n`),
  );
  await Bun.write(join(directory, 'SHA256SUMS'), lines.join(''));
}

async function sha256(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of Bun.file(file).stream()) hash.update(chunk);
  return hash.digest('hex');
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { target: { type: 'string', multiple: true } },
  });
  const unknown = values.target?.find((name) => !targets.some((target) => target.name === name));
  if (unknown !== undefined) {
    process.stderr.write(
      `latchkey: no target ${unknown}; there are ${targets.map(({ name }) => name).join(', ')}\n`,
    );
    process.exit(2);
  }
  await buildRelease({
    directory: join(root, 'dist/release'),
    ...(values.target ? { targets: targets.filter(({ name }) => values.target?.includes(name)) } : {}),
    say: (line) => process.stdout.write(`${line}\n`),
  });
}
