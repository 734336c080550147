// Updates the names of authenticators from the public community list: `bun tools/renew-aaguids.ts FILE_OR_URL [TARGET]`.
// The list is `aaguid.json` of https://github.com/passkeydeveloper/passkey-authenticator-aaguids. It has a name and icons
// for each AAGUID; icons are left out. Review the list before you use it.

import { join } from 'node:path';
import { z } from 'zod';

const shipped = join(import.meta.dir, '../packages/server/src/sign-in/passkeys/aaguids.json');
const maxNameLength = 100;
const aaguid = z.string().regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
// Its maintainers will empty the list when they abandon it. Do not lose the names then.
const communityList = z
  .record(aaguid, z.object({ name: z.string().min(1).max(maxNameLength) }))
  .refine((names) => Object.keys(names).length > 0, 'the list is empty; nothing was written');

const [source, target = shipped] = process.argv.slice(2);
if (!source) {
  process.stderr.write('usage: bun tools/renew-aaguids.ts FILE_OR_URL [TARGET]\n');
  process.exit(2);
}

const isUrl = /^https:/.test(source);
const downloaded = isUrl ? await (await fetch(source)).json() : await Bun.file(source).json();
const entries = Object.entries(communityList.parse(downloaded)).sort(([a], [b]) => (a < b ? -1 : 1));
const renewed = {
  source: isUrl ? source : 'https://github.com/passkeydeveloper/passkey-authenticator-aaguids',
  date: new Date().toISOString().slice(0, 10),
  names: Object.fromEntries(entries.map(([id, { name }]) => [id, name])),
};
await Bun.write(target, `${JSON.stringify(renewed, null, 2)}\n`);
process.stderr.write(`${entries.length} names written to ${target}\n`);
