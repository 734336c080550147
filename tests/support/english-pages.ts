// What pages say in English, for tests of their modules without a page. Import it first.

import { allTexts } from '../../packages/dashboard/src/languages/all.ts';

globalThis.latchkeyTexts = allTexts.en;
