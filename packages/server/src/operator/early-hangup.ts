// `main.ts` imports this before everything else: what it imports takes ten times as long to load, and until a handler is there, SIGHUP
// ends the program. `systemctl reload` may come that early. Workers that start later read the current settings anyway.

import { isRunBySystemd } from '../platform/config/environment.ts';

if (isRunBySystemd()) process.on('SIGHUP', () => undefined);
