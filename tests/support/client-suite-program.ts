// Runs the client suite with the options in its only argument, and prints the findings.

import { runSuite } from './client-suite.ts';

process.stdout.write(JSON.stringify(await runSuite(JSON.parse(process.argv[2] ?? '{}'))));
