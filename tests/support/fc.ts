// fast-check, with the seed of the run. It prints where a property failed.

import fc from 'fast-check';
import { seed } from './seed.ts';

fc.configureGlobal({ seed: seed | 0 });

export default fc;
