// Loaded before the service: its clock is as many milliseconds ahead as the file named by `FAULTS_CLOCK_FILE` says.

import { readFileSync } from 'node:fs';

const file = process.env['FAULTS_CLOCK_FILE'] ?? '';
const pollMs = 20;
const realNow = Date.now;
let aheadMs = 0;

const readClock = (): void => {
  try {
    aheadMs = Number(readFileSync(file, 'utf8'));
  } catch {
    // Without a file the clock is right. While descriptors are used up it stays as it is.
  }
};

readClock();
setInterval(readClock, pollMs).unref();
Date.now = () => realNow() + aheadMs;
