// Bun loads this before every test file (bunfig.toml).

import { afterEach, beforeEach } from 'bun:test';
import { endTest, startTest } from './cleanup.ts';

beforeEach(startTest);
afterEach(endTest);
