// npm run test:hostile [-- REQUESTS [SEED]]: the long form of hostile.long.test.ts, against a service on SQLite of its own.

import { seed as chosenSeed } from '#support/seed.ts';
import { startService } from '#support/service.ts';
import { memoryOf } from '../../bench/support/processes.ts';
import { attack } from './attack.ts';

const requests = Number(process.argv[2] ?? 1_000_000);
const seed = Number(process.argv[3] ?? chosenSeed);

const service = await startService();
const start = performance.now();
const { statuses, violations } = await attack(service, { requests, seed });
const seconds = Math.round((performance.now() - start) / 1000);
const rssMb = Math.round(memoryOf(service.pid).resident / 2 ** 20);
const code = await service.stop();

const print = (line: string): void => void process.stdout.write(`${line}\n`);
print(JSON.stringify({ requests, seed, seconds, statuses, rssMb }));
for (const violation of violations) print(violation);
print(`${violations.length} violations; the service exited with ${code}`);
process.exit(violations.length > 0 || code !== 0 ? 1 : 0);
