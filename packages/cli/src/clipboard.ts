import { spawnSync } from 'node:child_process';

/** What copies its standard input to the clipboard: on macOS, Wayland, X11 and, from WSL, Windows. */
const tools: readonly (readonly [string, ...string[]])[] = [
  ['pbcopy'],
  ['wl-copy'],
  ['xclip', '-selection', 'clipboard'],
  ['xsel', '--clipboard', '--input'],
  ['clip.exe'],
];

/** In milliseconds. */
const timeout = 1_000;

/** Copies text to the person's clipboard. Returns false if there is none; never throws. */
export const copyToClipboard = (input: string): boolean =>
  tools.some(([name, ...args]) => {
    const { status } = spawnSync(name, args, { input, stdio: ['pipe', 'ignore', 'ignore'], timeout });
    return status === 0;
  });
