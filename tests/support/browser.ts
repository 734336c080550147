// A real Chromium for tests: one per process, started for the first page.

import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { removeAtExit } from './cleanup.ts';
import { waitTimeoutMs } from './until.ts';

const flags = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-dev-shm-usage'],
];

let browser: Promise<Browser> | undefined;

/** A page in a new context, without cookies or storage. `page.context().close()` frees it early. */
export async function newPage(options: BrowserContextOptions = {}): Promise<Page> {
  browser ??= launch();
  const context = await (await browser).newContext(options);
  context.setDefaultTimeout(waitTimeoutMs);
  return context.newPage();
}

/** Chromium exits when its pipe to this process closes. Only its files need to be removed. */
async function launch(): Promise<Browser> {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-browser-'));
  removeAtExit(directory);
  const before = process.env['TMPDIR'];
  process.env['TMPDIR'] = directory;
  try {
    const { chromium } = await import('playwright-core');
    return await chromium.launch({ executablePath: chromiumPath(), args: flags, timeout: waitTimeoutMs });
  } finally {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
  }
}

function chromiumPath(): string {
  const named = process.env['CHROMIUM_PATH'];
  if (named) return named;
  for (const name of ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome']) {
    const found = Bun.which(name);
    if (found) return found;
  }
  throw new Error('no Chromium found: install it, or set CHROMIUM_PATH');
}

/** Stops the installed clock of a page, a minute ahead. */
export const pauseClock = async (page: Page): Promise<void> =>
  page.clock.pauseAt((await page.evaluate(() => Date.now())) + 60_000);
