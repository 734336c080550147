import type { ChildProcess } from 'node:child_process';
import type { Options } from 'open';
import type { Config } from './config.ts';
import type { Context } from './context.ts';

/** Whether the person would see a browser opened from here. */
export const hasBrowser = ({ isRemote, hasScreen }: Config): boolean => hasScreen && !isRemote;

/** An opener that finds no browser ends sooner. One that is still running may be the browser. */
const openerTimeoutMs = 3_000;

/** Opens a web page in the person's browser, also from WSL. Returns false on failure; never throws. */
export const openBrowser = async (address: string): Promise<boolean> =>
  // The library brings its own xdg-open, which may be older than the one of the system.
  (await openWith(address, {})) || openWith(address, { app: { name: 'xdg-open' } });

/** Opens a web page and says so, if there is a browser. */
export async function showInBrowser({ config, output }: Context, address: string): Promise<void> {
  if (hasBrowser(config) && (await openBrowser(address)))
    output.message({ browser: 'opened' }, () => ['It should have opened in your browser.']);
}

async function openWith(address: string, options: Options): Promise<boolean> {
  try {
    const { default: open } = await import('open');
    const opener: ChildProcess = await open(address, options);
    if (opener.exitCode !== null) return opener.exitCode === 0;
    return await new Promise((resolve) => {
      const timer = setTimeout(resolve, openerTimeoutMs, true);
      const settle = (isOpened: boolean) => {
        clearTimeout(timer);
        resolve(isOpened);
      };
      opener.on('error', () => settle(false)).on('exit', (code) => settle(code === 0));
    });
  } catch {
    return false;
  }
}
