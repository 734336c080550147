import { expect, test } from 'bun:test';
import { createOutput, type TextStream } from './output.ts';

/** A terminal of this width, and what was written to it. */
function terminal(columns: number) {
  const written: (string | Uint8Array)[] = [];
  const stderr: TextStream & { columns: number } = {
    isTTY: true,
    columns,
    write: (text, done) => {
      written.push(text);
      done();
    },
  };
  const output = createOutput({ stdout: stderr, stderr, json: false, noColor: true, dumbTerminal: false });
  return { written, stderr, output };
}

test('a progress line is written only when it changes', () => {
  const { written, output } = terminal(80);
  for (const line of ['0:01 left', '0:00 left', '0:00 left', '0:00 left']) output.progress(line);
  output.progress();
  output.progress();
  expect(written).toEqual(['\r\u001b[2K0:01 left', '\r\u001b[2K0:00 left', '\r\u001b[2K']);
});

test('a progress line is cut to the width of the terminal, also after a resize', () => {
  const { written, stderr, output } = terminal(80);
  output.progress('Waiting for you; 9:59 left');
  stderr.columns = 11;
  output.progress('Waiting for you; 9:58 left');
  expect(written.at(-1)).toBe('\r\u001b[2KWaiting fo');
});

test('what another program writes reaches a terminal as text, and a question begins a line of its own', async () => {
  const { written, output } = terminal(80);
  const write = output.relay('stdout');
  const bytes = new TextEncoder().encode('\u001b[8mhidden\u001b]0;title\u0007\tö\r\u009b2J\u0008');
  for (const byte of bytes) await write(Uint8Array.of(byte));
  expect(written.join('')).not.toMatch(/(?![\t\r])\p{Cc}/u);
  expect(written.join('')).toContain('\tö\r');
  output.question('Allow it?');
  expect(written.at(-1)).toBe('\nAllow it?');
  await write(new TextEncoder().encode('line\n'));
  output.question('Allow it?');
  expect(written.at(-1)).toBe('Allow it?');
});

test('what another program writes into a file or pipe stays as it is', async () => {
  const written: (string | Uint8Array)[] = [];
  const stdout: TextStream = {
    write: (text, done) => {
      written.push(text);
      done();
    },
  };
  const output = createOutput({ stdout, stderr: stdout, json: false, noColor: true, dumbTerminal: false });
  const bytes = Uint8Array.of(0x1b, 0xff, 0);
  await output.relay('stdout')(bytes);
  expect(written).toEqual([bytes]);
});
