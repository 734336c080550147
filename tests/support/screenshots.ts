// `npm run screenshots` saves every page in every state, wide and narrow, light and dark, to artifacts/screenshots/. It
// starts its own service. Arguments select the states whose names start with one of them; `languages` takes the main states
// in every language instead, and `readme` the picture of the README.

import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { languages } from '@latchkey/contract/languages';
import type { Page } from 'playwright-core';
import { newPage } from './browser.ts';
import { mainStates } from './page-states/languages.ts';
import { openPageStates } from './page-states.ts';
import { takeReadmePicture } from './readme-picture.ts';
import { startService } from './service.ts';

const directory = join(import.meta.dir, '../../artifacts/screenshots');
const looks = [
  { name: 'desktop', viewport: { width: 1280, height: 900 } },
  { name: 'phone', viewport: { width: 390, height: 844 } },
];
const wanted = process.argv.slice(2);
const isWanted = (name: string) => wanted.length === 0 || wanted.some((start) => name.startsWith(start));

if (wanted.includes('readme')) {
  const service = await startService();
  await takeReadmePicture(service);
  await service.stop();
  process.stdout.write('2 pictures in docs/images/\n');
  process.exit(0);
}

/** Takes the pictures of the state that a page is in, and tells how many. */
async function takePictures(
  page: Page,
  name: string,
  schemes: readonly ('light' | 'dark')[],
): Promise<number> {
  // What the pointer happens to be over would look different.
  await page.mouse.move(0, 0);
  for (const { name: look, viewport } of looks) {
    await page.setViewportSize(viewport);
    for (const colorScheme of schemes) {
      await page.emulateMedia({ colorScheme });
      // Behind a dialog only the window is shown, not the whole page.
      const fullPage = (await page.locator('dialog:modal').count()) === 0;
      await page.screenshot({ path: join(directory, `${name}-${look}-${colorScheme}.png`), fullPage });
    }
  }
  return looks.length * schemes.length;
}

if (wanted.includes('languages')) {
  const service = await startService();
  let taken = 0;
  for (const language of languages) {
    const page = await newPage({ locale: language, reducedMotion: 'reduce' });
    for (const [name, open] of Object.entries(mainStates(service.url, language))) {
      await open(page);
      taken += await takePictures(page, `${language}-${name}`, ['light']);
    }
    await page.context().close();
  }
  await service.stop();
  process.stdout.write(`${taken} pictures in artifacts/screenshots/\n`);
  process.exit(0);
}

if (wanted.length === 0) await rm(directory, { recursive: true, force: true });
await mkdir(directory, { recursive: true });
const { service, states } = await openPageStates();
let pictures = 0;
for (const [name, open] of Object.entries(states).filter(([state]) => isWanted(state))) {
  const page = await newPage({ reducedMotion: 'reduce' });
  await open(page);
  pictures += await takePictures(page, name, ['light', 'dark']);
  await page.context().close();
}
await service.stop();
process.stdout.write(`${pictures} pictures in artifacts/screenshots/\n`);
process.exit(0);
