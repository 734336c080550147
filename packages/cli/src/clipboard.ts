import { spawn } from 'bun';

/** What copies its standard input to the clipboard: on macOS, Wayland, X11 and, from WSL, Windows. */
const tools: readonly (readonly string[])[] = [
  ['pbcopy'],
  ['wl-copy'],
  ['xclip', '-selection', 'clipboard'],
  ['xsel', '--clipboard', '--input'],
  ['clip.exe'],
];

const timeoutMilliseconds = 1_000;

/** Copies text to the person's clipboard. Returns false if there is none; never throws. */
export async function copyToClipboard(text: string): Promise<boolean> {
  for (const [name = '', ...args] of tools) {
    const program = Bun.which(name);
    if (program !== null && (await succeeds([program, ...args], text))) return true;
  }
  return false;
}

async function succeeds(command: string[], input: string): Promise<boolean> {
  try {
    const options = { stdout: 'ignore', stderr: 'ignore', timeout: timeoutMilliseconds } as const;
    return (await spawn(command, { stdin: new Blob([input]), ...options }).exited) === 0;
  } catch {
    return false;
  }
}
