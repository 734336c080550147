import { expect, test } from 'bun:test';
import { createOutput, type TextStream } from './output.ts';

/** The output of a program on a terminal of this width, or into a file, and what was written to it. */
function outputOn(place: { columns: number } | 'a file') {
  const written: (string | Uint8Array)[] = [];
  const stream: TextStream & { columns?: number } = {
    ...(place !== 'a file' && { isTTY: true, ...place }),
    write: (text, done) => {
      written.push(text);
      done();
    },
  };
  const plain = { json: false, noColor: true, dumbTerminal: false };
  const output = createOutput({ stdout: stream, stderr: stream, ...plain });
  return { written, stream, output };
}

test('a progress line is written only when it changes', () => {
  const { written, output } = outputOn({ columns: 80 });
  for (const line of ['0:01 left', '0:00 left', '0:00 left', '0:00 left']) output.progress(line);
  output.progress();
  output.progress();
  expect(written).toEqual(['\r\u001b[2K0:01 left', '\r\u001b[2K0:00 left', '\r\u001b[2K']);
});

test('a progress line is cut to the width of the terminal, also after a resize', () => {
  const { written, stream, output } = outputOn({ columns: 80 });
  output.progress('Waiting for you; 9:59 left');
  stream.columns = 11;
  output.progress('Waiting for you; 9:58 left');
  expect(written.at(-1)).toBe('\r\u001b[2KWaiting fo');
});

test('what another program writes reaches a terminal as text, and a question begins a line of its own', async () => {
  const { written, output } = outputOn({ columns: 80 });
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
  const { written, output } = outputOn('a file');
  const bytes = Uint8Array.of(0x1b, 0xff, 0);
  await output.relay('stdout')(bytes);
  expect(written).toEqual([bytes]);
});
