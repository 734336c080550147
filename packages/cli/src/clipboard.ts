import { spawn } from 'node:child_process';

/** What copies its standard input to the clipboard: on macOS, Wayland, X11 and, from WSL, Windows. */
const tools: readonly (readonly [string, ...string[]])[] = [
  ['pbcopy'],
  ['wl-copy'],
  ['xclip', '-selection', 'clipboard'],
  ['xsel', '--clipboard', '--input'],
  ['clip.exe'],
];

const timeoutMilliseconds = 1_000;

/** Copies text to the person's clipboard. Returns false if there is none; never throws. */
export async function copyToClipboard(text: string): Promise<boolean> {
  for (const [name, ...args] of tools) {
    if (await succeeds(name, args, text)) return true;
  }
  return false;
}

function succeeds(name: string, args: readonly string[], input: string): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(name, args, { stdio: ['pipe', 'ignore', 'ignore'], timeout: timeoutMilliseconds });
    child.on('error', () => resolve(false));
    child.on('exit', (code) => resolve(code === 0));
    // A tool that ends without reading has failed by its exit code.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}
