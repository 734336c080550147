// The suite as a program: its options as the one argument, its findings on standard output.

import { runSuite } from './client-suite.ts';

process.stdout.write(JSON.stringify(await runSuite(JSON.parse(process.argv[2] ?? '{}'))));
