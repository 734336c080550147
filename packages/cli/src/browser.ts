import type { ChildProcess } from 'node:child_process';
import type { Config } from './config.ts';

/** Whether the person would see a browser opened from here. */
export const hasBrowser = ({ isRemote, hasScreen }: Config): boolean => hasScreen && !isRemote;

/** Opens a web page in the person's browser, also from WSL. Returns false on failure; never throws. */
export async function openBrowser(address: string): Promise<boolean> {
  try {
    const { default: open } = await import('open');
    const child: ChildProcess = await open(address);
    // The browser reports its own problems.
    child.on('error', () => {});
    return true;
  } catch {
    return false;
  }
}
