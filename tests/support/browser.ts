// A real Chromium for tests: one per process, started for the first page.

import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { closeAtTestEnd } from './cleanup.ts';
import { temporaryDirectory } from './service.ts';
import { until, waitTimeoutMs } from './until.ts';

const flags = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-dev-shm-usage'],
];

let browser: Promise<Browser> | undefined;

/** A page in a new context, without cookies or storage. The context closes at the end of the test that opened it. */
export async function newPage(options: BrowserContextOptions = {}): Promise<Page> {
  browser ??= launch();
  const context = await (await browser).newContext(options);
  closeAtTestEnd(() => context.close());
  context.setDefaultTimeout(waitTimeoutMs);
  // What no script of a page caught fails the test as an error that no test caught.
  context.on('weberror', (error) => void Promise.reject(error.error()));
  const requests = { sent: 0, over: 0 };
  requestsOf.set(context, requests);
  context.on('request', () => requests.sent++);
  context.on('requestfinished', () => requests.over++);
  context.on('requestfailed', () => requests.over++);
  return context.newPage();
}

const requestsOf = new WeakMap<BrowserContext, { sent: number; over: number }>();

/** Waits for two frames of a page; returns whether no script has or awaits a lock. Fails in a page that is left meanwhile. */
const twoFrames = async (): Promise<boolean> => {
  await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  // Over plain http there are none.
  const { held = [], pending = [] } = isSecureContext ? await navigator.locks.query() : {};
  return held.length + pending.length === 0;
};

/** Waits until all parts of a page are loaded, also of one that has not begun to show them. */
export async function untilLoaded(page: Page): Promise<void> {
  await page.locator('main:has(h1):not(:has([aria-busy="true"], .placeholder))').waitFor();
}

/**
 * Waits until the pages of a browser have no request in flight, and this one does not send another within two frames, or under a
 * lock, which it may get later.
 */
export async function untilIdle(page: Page): Promise<void> {
  const requests = requestsOf.get(page.context())!;
  await until(
    async () => {
      const { sent } = requests;
      if (requests.over < sent) return false;
      const isIdle = await page.evaluate(twoFrames).catch(() => false);
      return isIdle && requests.sent === sent;
    },
    () => `the end of ${requests.sent - requests.over} requests of ${page.url()}`,
  );
}

/** Takes the network from a page after its last request: an earlier one would fail, too, and show its own alert. */
export async function goOffline(page: Page): Promise<void> {
  await untilIdle(page);
  await page.context().setOffline(true);
}

/** Chromium exits when its pipe to this process closes. Only its files need to be removed. */
async function launch(): Promise<Browser> {
  const before = process.env['TMPDIR'];
  process.env['TMPDIR'] = temporaryDirectory();
  try {
    const { chromium } = await import('playwright-core');
    return await chromium.launch({ executablePath: chromiumPath(), args: flags, timeout: waitTimeoutMs });
  } finally {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
  }
}

function chromiumPath(): string {
  const names = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];
  const found = process.env['CHROMIUM_PATH'] || names.map((name) => Bun.which(name)).find(Boolean);
  if (!found) throw new Error('no Chromium found: install it, or set CHROMIUM_PATH');
  return found;
}

/** Stops the installed clock of a page, a minute ahead. */
export const pauseClock = async (page: Page): Promise<void> =>
  page.clock.pauseAt((await page.evaluate(() => Date.now())) + 60_000);
