// Writes the key file of the database at DATABASE_URL without end: the two rings in its arguments in turn.

import { readConfig } from '../../packages/server/src/platform/config/config.ts';
import { writeKeyFile } from '../../packages/server/src/platform/config/keys.ts';

const config = readConfig();
for (let n = 0; ; n++) writeKeyFile(config, process.argv[2 + (n % 2)]!);
