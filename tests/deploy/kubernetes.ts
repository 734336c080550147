// Checks Kubernetes objects against the types of the API, which know every member and its type.

import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '#support/service.ts';

export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
}

const root = join(import.meta.dir, '../..');
const compiler = join(root, 'node_modules/.bin/tsc');
const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'esnext'];

/** The mistakes in the objects, as the compiler prints them: `''` if there are none. */
export async function mistakesIn(objects: readonly KubernetesObject[]): Promise<string> {
  const directory = temporaryDirectory();
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'));
  const declarations = objects.map(
    (object, index) =>
      `const object${index}: import('kubernetes-models/${object.apiVersion}').I${object.kind} = ${JSON.stringify(object)};`,
  );
  await Bun.write(join(directory, 'objects.mts'), declarations.join('\n'));
  const compile = Bun.spawn([compiler, ...options, 'objects.mts'], { cwd: directory, stderr: 'inherit' });
  return new Response(compile.stdout).text();
}
