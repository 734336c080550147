// `npm run screenshots` saves every page in every state, wide and narrow, light and dark, to artifacts/screenshots/. It
// starts its own service. Arguments select the states whose names start with one of them; `languages` takes the main states
// in every language instead, and `readme` the picture of the README.

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { languages } from '@latchkey/contract/languages';
import type { Page } from 'playwright-core';
import { newPage } from '#support/browser.ts';
import { mainStates } from '#support/page-states/languages.ts';
import { openPageStates } from '#support/page-states.ts';
import { startService } from '#support/service.ts';
import { takeReadmePicture } from './readme-picture.ts';

const directory = join(import.meta.dir, '../artifacts/screenshots');
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

const schemes = wanted.includes('languages') ? (['light'] as const) : (['light', 'dark'] as const);
let pictures = 0;

async function takePictures(page: Page, name: string): Promise<void> {
  // What the pointer happens to be over would look different.
  await page.mouse.move(0, 0);
  for (const { name: look, viewport } of looks) {
    await page.setViewportSize(viewport);
    for (const colorScheme of schemes) {
      await page.emulateMedia({ colorScheme });
      // Behind a dialog only the window is shown, not the whole page.
      const fullPage = (await page.locator('dialog:modal').count()) === 0;
      await page.screenshot({ path: join(directory, `${name}-${look}-${colorScheme}.png`), fullPage });
      pictures++;
    }
  }
}

if (wanted.includes('languages')) {
  const service = await startService();
  for (const language of languages) {
    const page = await newPage({ locale: language, reducedMotion: 'reduce' });
    for (const [name, open] of Object.entries(mainStates(service.url, language))) {
      await open(page);
      await takePictures(page, `${language}-${name}`);
    }
    await page.context().close();
  }
  await service.stop();
} else {
  if (wanted.length === 0) await rm(directory, { recursive: true, force: true });
  const { service, states } = await openPageStates();
  for (const [name, open] of Object.entries(states).filter(([state]) => isWanted(state))) {
    const page = await newPage({ reducedMotion: 'reduce' });
    await open(page);
    await takePictures(page, name);
    await page.context().close();
  }
  await service.stop();
}
process.stdout.write(`${pictures} pictures in artifacts/screenshots/\n`);
process.exit(0);
