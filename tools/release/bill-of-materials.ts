// A bill of materials of what a single file contains.
// @see https://cyclonedx.org/docs/1.6/json/

import type { BundledPackage } from './bundled-packages.ts';
import { lockedPackage } from './npm-archive.ts';
import type { Program } from './programs.ts';

/** CycloneDX 1.6 as JSON. It carries no time and no serial number, so that the same source gives the same text. */
export async function billOfMaterials(
  { name, summary }: Program,
  version: string,
  packages: readonly BundledPackage[],
): Promise<string> {
  const components = await Promise.all(packages.map(componentOf));
  const purl = `pkg:generic/${name}@${version}`;
  const bill = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': purl,
        name,
        version,
        description: summary,
        licenses: licenses('Apache-2.0'),
        purl,
      },
    },
    components,
    dependencies: [{ ref: purl, dependsOn: components.map((component) => component['bom-ref']) }],
  };
  return `${JSON.stringify(bill, null, 2)}\n`;
}

async function componentOf({ name, version, license }: BundledPackage) {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  return {
    type: 'library' as const,
    'bom-ref': purl,
    name,
    version,
    licenses: licenses(license),
    purl,
    ...(await hashes(name, version)),
  };
}

/** An SPDX id, or an expression of several. */
const licenses = (license: string) =>
  /^[\w.-]+$/.test(license) ? [{ license: { id: license } }] : [{ expression: license }];

/** The checksum of the package that npm installed, where the lock file has it at the top. */
async function hashes(name: string, version: string): Promise<object> {
  const locked = await lockedPackage(name);
  if (locked.version !== version || !locked.integrity) return {};
  const content = Buffer.from(locked.integrity.replace(/^sha512-/, ''), 'base64').toString('hex');
  return { hashes: [{ alg: 'SHA-512', content }] };
}
