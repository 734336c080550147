import { spawn } from 'node:child_process';
import { unlessAborted } from '@latchkey/client/internal/clock';
import type { Options } from 'open';
import type { Config } from './config.ts';
import type { Context } from './context.ts';

/** Whether the person would see a browser opened from here. `BROWSER` reaches it even over SSH and from a container. */
export const hasBrowser = ({ browser, isOverSsh, isInContainer, hasScreen }: Config): boolean =>
  browser !== undefined || (hasScreen && !isOverSsh && !isInContainer);

/** Whether that browser can come back to a port of this machine. */
export const canComeBack = (config: Config): boolean => hasBrowser(config) && !config.isOverSsh;

/** An opener that finds no browser ends sooner. One that is still running may be the browser. */
const openerTimeoutMs = 3_000;

type Opener = Pick<ReturnType<typeof spawn>, 'exitCode' | 'on'>;

/** Opens a page with the program in `BROWSER`, else the system's opener, also from WSL. False on failure. */
export const openBrowser = async ({ browser, programEnvironment }: Config, address: string) => {
  if (browser === undefined) {
    // The library brings its own xdg-open, which may be older than the system's.
    return (await openWithLibrary(address, {})) || openWithLibrary(address, { app: { name: 'xdg-open' } });
  }
  for (const [program = '', ...args] of browserCommands(browser, address)) {
    const started = async () =>
      spawn(program, args, { stdio: 'ignore', detached: true, env: programEnvironment });
    if (await hasOpened(started)) return true;
  }
  return false;
};

/** Opens a web page and says so, if there is a browser. @throws {LatchkeyError} `aborted` */
export async function showInBrowser({ config, output, signal }: Context, address: string): Promise<void> {
  if (hasBrowser(config) && (await unlessAborted(openBrowser(config, address), signal)))
    output.message({ browser: 'opened' }, () => ['It should have opened in your browser.']);
}

/**
 * The commands in `BROWSER`, of which the first that works is used: separated by colons, but on Windows, each with its arguments.
 * The address takes the place of `%s`, or is the last argument.
 * @see https://www.catb.org/~esr/BROWSER/
 */
export function browserCommands(browser: string, address: string, platform = process.platform): string[][] {
  const commands = platform === 'win32' ? [browser] : browser.split(':');
  return commands.flatMap((command) => {
    const words = (command.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? []).map((word) =>
      word.replace(/"([^"]*)"|'([^']*)'/g, '$1$2'),
    );
    if (words.length === 0) return [];
    const isPlaced = words.some((word) => word.includes('%s'));
    return [isPlaced ? words.map((word) => word.replaceAll('%s', () => address)) : [...words, address]];
  });
}

async function openWithLibrary(address: string, options: Options): Promise<boolean> {
  return hasOpened(async () => (await import('open')).default(address, options));
}

async function hasOpened(start: () => Promise<Opener>): Promise<boolean> {
  try {
    const opener = await start();
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
