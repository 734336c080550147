import type { ChildProcess } from 'node:child_process';
import type { Config } from './config.ts';

/** Whether a browser opened from here would be seen by the person. */
export const hasBrowser = ({ overSsh, hasScreen }: Config): boolean => hasScreen && !overSsh;

/** Opens a web page in the person's browser, also from WSL. False where that did not work; it never throws. */
export async function openBrowser(address: string): Promise<boolean> {
  try {
    const { default: open } = await import('open');
    const child: ChildProcess = await open(address);
    // What goes wrong from here on is the browser's to say.
    child.on('error', () => {});
    return true;
  } catch {
    return false;
  }
}
