// Writes the key file of the database at DATABASE_URL without end: the two rings in its arguments in turn.

import { writeKeyFile } from '../../packages/server/src/platform/config/server-keys.ts';
import { readConfig } from '../../packages/server/src/settings.ts';

const config = readConfig(process.env);
for (let n = 0; ; n++) writeKeyFile(config, process.argv[2 + (n % 2)]!);
