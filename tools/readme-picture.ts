// The picture of the README: a sign-in from a terminal, beside the page that approves it. Both are real; only the address of
// the service is replaced.

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { newPage } from '#support/browser.ts';
import { newHome, program, userCodeIn } from '#support/cli.ts';
import { headed, signIn } from '#support/people.ts';
import { launch, type TestService, untilReady } from '#support/service.ts';

const directory = join(import.meta.dir, '../docs/images');
const address = 'https://login.example.com';
const width = 1140;
const pageWidth = 500;
/** How much smaller the web page is than the terminal. */
const pageZoom = 0.85;
/** Around the card of the page. */
const pageMargin = 20;
/** Device pixels per pixel: GitHub shows the picture smaller than it is. */
const scale = 1.25;
const colorSchemes = ['light', 'dark'] as const;

const escapeHtml = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

const transcript = (text: string, url: string): string => {
  const code = userCodeIn(text) ?? '';
  return escapeHtml(text.replaceAll(url, address)).replace(new RegExp(`^${code}$`, 'm'), `<b>${code}</b>`);
};

const scene = (terminal: string, page: string): string => `<!doctype html>
<meta charset="utf-8">
<style>
  :root { color-scheme: light dark; --edge: light-dark(#d4d4da, #3a3a42); --bar: light-dark(#f1f1f4, #26262c); }
  * { box-sizing: border-box; margin: 0; }
  body { width: ${width}px; padding: 20px; background: light-dark(#fff, #0d1117); font: 15px/1.5 system-ui, sans-serif; }
  main { display: grid; grid-template-columns: 1fr ${pageWidth * pageZoom + 2}px; gap: 20px; align-items: center; }
  section { border: 1px solid var(--edge); border-radius: 12px; overflow: hidden; display: flex; flex-direction: column; }
  header { display: flex; gap: 8px; align-items: center; height: 40px; padding: 0 14px; background: var(--bar);
    border-bottom: 1px solid var(--edge); }
  header i { width: 11px; height: 11px; border-radius: 50%; background: light-dark(#c6c6ce, #55555f); }
  header span { flex: 1; margin-left: 10px; padding: 2px 12px; border-radius: 7px; background: light-dark(#fff, #17171b);
    color: light-dark(#55555f, #b4b4be); font-size: 12.5px; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
  pre { flex: 1; padding: 22px 22px 44px; background: #16161a; color: #c9c9d2; font: 14px/1.65 'DejaVu Sans Mono', monospace;
    white-space: pre-wrap; overflow-wrap: anywhere; }
  pre b { color: #fff; font-size: 19px; letter-spacing: .06em; }
  pre em { color: #7ee2a8; font-style: normal; }
  img { display: block; width: ${pageWidth * pageZoom}px; }
</style>
<main>
  <section><header><i></i><i></i><i></i></header><pre><em>$</em> latchkey login\n${terminal}</pre></section>
  <section><header><i></i><i></i><i></i><span>${new URL(address).host}/device</span></header><img src="data:image/png;base64,${page}"></section>
</main>`;

/** Saves `docs/images/device-login.png` and its dark version. */
export async function takeReadmePicture(service: TestService): Promise<void> {
  await mkdir(directory, { recursive: true });
  const home = newHome();
  const command = [program, 'login', '--server', service.url, '--device-name', 'laptop'];
  const login = launch(home.path, home.env, command);
  const endLogin = await untilReady('the login', login, () => login.stderr().includes('Waiting'));
  const text = login.stderr().trimEnd();
  const page = await newPage({ reducedMotion: 'reduce', deviceScaleFactor: scale * pageZoom });
  await page.setViewportSize({ width: pageWidth, height: 1000 });
  await signIn(page, service.url, 'ada@example.com');
  await page.goto(`${service.url}/device?user_code=${userCodeIn(text)}`);
  await headed(page, 'Let this device sign in as you?');
  const canvas = await newPage({ deviceScaleFactor: scale });
  await canvas.setViewportSize({ width, height: 900 });
  const clip = await page.evaluate(
    ([width, margin]) => {
      const logo = document.querySelector('header')?.getBoundingClientRect().top ?? 0;
      const card = document.querySelector('main')?.getBoundingClientRect().bottom ?? 0;
      return { x: 0, y: logo - margin, width, height: card - logo + 2 * margin };
    },
    [pageWidth, pageMargin] as const,
  );
  for (const colorScheme of colorSchemes) {
    await page.emulateMedia({ colorScheme });
    await canvas.emulateMedia({ colorScheme });
    const picture = (await page.screenshot({ clip })).toString('base64');
    const name = colorScheme === 'light' ? 'device-login.png' : 'device-login-dark.png';
    await canvas.setContent(scene(transcript(text, service.url), picture));
    await canvas.locator('body').screenshot({ path: join(directory, name) });
  }
  await Promise.all([page.context().close(), canvas.context().close(), endLogin()]);
}
