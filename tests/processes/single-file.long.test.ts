// The service compiled into one file works without any other file. `npm test` runs every process of the service from such a file.

import { beforeAll, expect, test } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawn, spawnSync } from 'bun';
import { linkTokenIn, mailTo } from '#support/http.ts';
import { compiledServer, startService, temporaryDirectory } from '#support/service.ts';

const directory = temporaryDirectory();
const file = compiledServer ?? join(directory, 'latchkey-server');

beforeAll(async () => {
  if (compiledServer) return;
  const program = join(import.meta.dir, '../../tools/release/single-file.ts');
  const build = spawn([process.execPath, program, 'latchkey-server', file]);
  expect(await build.exited).toBe(0);
});

test('the single file has its pages, reads .env from its working directory and executes nothing from there', async () => {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, '.env'), 'LATCHKEY_SIGNUP=closed\n');
  writeFileSync(join(cwd, 'bunfig.toml'), 'preload = ["./hostile.ts"]\n');
  writeFileSync(join(cwd, 'hostile.ts'), 'console.log("hostile"); process.exit(7);\n');
  const service = await startService({ program: [file], directory: cwd });
  const html = await (await fetch(`${service.url}/login`)).text();
  const assets = [...html.matchAll(/"(\/assets\/[^"]+)"/g)].map(([, path]) => path);
  expect(assets.length).toBeGreaterThan(2);
  for (const path of [...assets, '/docs', '/openapi.json', '/account'])
    expect([path, (await fetch(`${service.url}${path}`)).status]).toEqual([path, 200]);
  await service.ask('POST', '/magic_link', { json: { email: 'nobody@example.com' } });
  const token = linkTokenIn(await mailTo(service.url, 'nobody@example.com'));
  const answer = await service.ask('POST', '/magic_link/verify', { json: { token } });
  expect([answer.status, answer.body.error]).toEqual([403, 'signup_disabled']);
  expect(service.logs().join('\n')).not.toContain('hostile');
  expect(await service.stop()).toBe(0);
});

// Runs a program of the image as its user, on a file system on which only /data can be written.
const contain = `
mount --bind "$1" "$1" && mount --bind /proc "$1/proc" && mount -t tmpfs -o uid=65532,gid=65532 none "$1/data" &&
mount -o remount,bind,ro "$1" && root=$1 && shift &&
exec chroot --userspec=65532:65532 --groups= "$root" "$@"`;

const canContain = process.getuid?.() === 0 && spawnSync(['unshare', '--mount', 'true']).success;

test.skipIf(!canContain)(
  'the files of the container image are enough, for a user without rights and on a read-only file system',
  async () => {
    const image = join(directory, 'image');
    const layOut = join(import.meta.dir, '../../deploy/image-root.sh');
    expect(spawnSync(['sh', layOut, file, image]).exitCode).toBe(0);
    // A container runtime makes this directory itself.
    mkdirSync(join(image, 'proc'));
    const program = ['unshare', '--mount', 'sh', '-c', contain, 'contain', image, '/latchkey-server'];
    const service = await startService({
      program,
      databaseUrl: 'sqlite:/data/latchkey.db',
      env: { SQLITE_TMPDIR: '/data' },
    });
    const { access_token: token } = await service.login('contained@example.com');
    expect((await service.ask('GET', '/me', { token })).status).toBe(200);
    const health = () => spawnSync([...program, 'health'], { env: { ...process.env, ...service.env } });
    expect([health().exitCode, health().stderr.toString()]).toEqual([0, '']);
    expect(await service.stop()).toBe(0);
    expect(health().exitCode).toBe(1);
  },
);
